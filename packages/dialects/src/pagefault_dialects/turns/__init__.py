"""Stored records as turns of a conversation, before anybody asks for which target.

    record_turns    a canonical record: one tool's answer
    page_turns      a page at a level, as the answer to the call that faults it in
    pairing         calls and answers brought together, as every provider demands

Messages of model dialects are read by `messages`, which knows their blocks as `results` does.
"""
