"""Request bodies: received whole or streamed, validated, identified, and processed once.

whole_bodies        bodies that are read whole
streamed_bodies     bodies that are processed while they arrive
streamed_requests   bodies with media that are moved to the store
validation          checks of JSON bodies, and of the version that a write changes
request_identity    digests that identify a request
idempotency         idempotency keys of writes

Long strings are extracted by `pagefault_dialects.streams`.
"""
