"""Dialects, a module for each: its messages, blocks and bodies, and the objects around results.

A module is made of the tables of `envelope` and `message_forms`. `registry` and `message_registry`
have those of all dialects in order, `shapes` says how an object is recognised, `foreign_message` is
the common form that messages are read into.
"""
