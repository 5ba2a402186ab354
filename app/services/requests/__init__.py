"""Request bodies: received whole or streamed, validated, identified, answered once.

whole_bodies        bodies that are read whole
streamed_bodies     bodies that are processed while they arrive
streamed_requests   bodies of which the media are moved out of values, read with placeholders
validation          checks of JSON bodies, and of the version that a write changes
request_identity    digests that identify a request
idempotency         idempotency keys of writes

Long strings are extracted by `pagefault_dialects.streams`.
"""
