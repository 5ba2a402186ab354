"""Dialects: how providers and frameworks write messages and tool results.

Each dialect is a module, which ends with `DialectTables`: the forms of its messages and their
blocks, of bodies with messages, and of envelopes of tool results.

    envelope, message_forms    the types of the tables
    shapes                     checks of objects by their members
    registry                   lists all dialects, and finds tool results of any dialect in a value
    message_registry           reads messages of any dialect
    foreign_message            the common form to which messages are converted
    tool_output                the common form to which tool results are converted
    common_results             converts tool results to blocks of messages
    mark_index                 finds the forms that an object may have, by its members
    provider_files             describes blocks that refer to files of a provider
"""
