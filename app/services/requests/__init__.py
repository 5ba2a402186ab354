"""Request bodies: received whole or streamed, validated, identified, answered once.

whole_bodies        bodies that are read whole
streamed_bodies     a body on its way: what is worked on while the rest is coming
streamed_requests   bodies of which the media are moved out of values, read with placeholders
validation          what every JSON body is checked for, and the version that a write changes
request_identity    what a request is known by
idempotency         keys that make a repeated write safe

Long strings are found and kept aside by `pagefault_dialects.streams`.
"""
