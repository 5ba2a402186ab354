"""Dialects: how providers and frameworks write messages and tool results.

Each dialect is a module, which ends with a `Dialect`: tables of the forms of its messages, their
blocks, bodies with messages, and envelopes of tool results.

    envelope, message_forms    the types of the tables
    shapes                     checks of objects by their members
    registry                   lists all dialects, and finds the tool results in a value
    message_registry           reads messages of any dialect
    foreign_message            the common form to which messages are converted
    tool_output                the common form to which tool results are converted
    common_results             converts tool results to blocks of messages
    mark_index                 finds the forms that an object may have
    provider_files             describes blocks that refer to files of a provider
"""
