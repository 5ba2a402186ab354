"""Media in JSON values: moves them to the blob store, and restores them as they were sent.

A stored value, which is the content of a page or a message, has a reference in place of each large
medium. The original form of the medium is stored as well, so that the value can be returned byte
for byte.
"""
