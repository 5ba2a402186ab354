"""What is known of media, once, as pure functions of bytes and values.

    types, settling          the type of a file: names, magic, claims
    base64_text              base64 where it is expected
      base64_runs, base64_lines, line_lists    and where nobody announced it
      base64_stream            and while it arrives
    data_uris                data: URIs, whole or in a sentence
    block_table              how providers write media into blocks: one entry for each shape
      block_shapes, langchain_blocks    media found by it, and what is said of them
    images, durations        what headers tell: pixels, seconds
    soundness                whether a file is whole

It does no I/O.
"""
