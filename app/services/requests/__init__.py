"""Request bodies: received whole or streamed, validated, identified, answered once.

streamed_bodies     a body on its way: what is worked on while the rest is coming; bodies read whole
streamed_requests   bodies of which the media are moved out of values, read with placeholders
json_stream         the scanner: which strings are long, where they end
long_strings        one long string: its bytes in a draft, its text and escapes, its placeholder
data_uris           data URIs that are a content: taken apart, and put together byte for byte
validation          what every JSON body is checked for, and the version that a write changes
identity            what a request is known by, and the names of its long strings
idempotency         keys that make a repeated write safe
"""
