"""What is known of media, once, as pure functions of bytes and values.

types, settling          the type of a file: names, magic, claims
base64_text              base64 where it is expected
base64_runs, base64_lines, line_lists    and where nobody announced it
base64_stream            and while it arrives
data_uris                data: URIs, whole or in a sentence
images, durations        what headers tell: pixels, seconds
soundness                whether a file is whole
"""
