"""Request bodies: receives, parses and validates them, and recognises repeated requests.

whole_bodies        bodies that are received whole, and then parsed
streamed_bodies     bodies whose long base64 strings are decoded while they arrive
streamed_requests   parsed streamed bodies, with their media
body_reader         the parser, with warnings about the JSON text
validation          checks of JSON bodies, and of the version that a write changes
request_identity    digests by which requests are compared
idempotency         idempotency keys of writes
session_keys        idempotency keys of writes that are done once in a session

`pagefault_dialects.streams` finds the long strings.
"""
