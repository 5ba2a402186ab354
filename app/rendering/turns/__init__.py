"""Stored records as turns of a conversation, before anybody asks for which target.

    tool_results    a canonical record: one tool's answer
    interactions    a user's input, and an answer
    pages           a page at a level, as the answer to the call that faults it in
    pairing         calls and answers brought together, as every provider demands

Pure. Messages of model dialects are read by `app.services.renders.messages`, with the pipeline's
own knowledge of their blocks.
"""
