"""Media in values: moved to the store, and restored as they were sent.

In a stored value (the content of a page, a message of a conversation), each large medium is
replaced by a reference. The form of the medium is stored with it, so that the value can be returned
byte for byte.
"""
