"""Dialects, a module for each: its messages, blocks and bodies, and its envelopes of results.

A module consists of the tables of `envelope` and `message_forms`. `registry` and `message_registry`
list those of all dialects in order, `shapes` recognises objects, and `foreign_message` is the
common form of messages.
"""
