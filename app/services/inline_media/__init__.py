"""Media inside values: moved to the store, and put back as they were sent.

A value that is kept for a client (a page's content, a message of a conversation) gets a reference
in the place of every medium that is too long to be read, and a note of how the medium was written,
so that what was sent can be given back byte for byte.
"""
