"""What is known of media, once, as pure functions of bytes and values.

    types, settling          the type of a file: names, magic, claims
    base64_text              base64 where it is expected, whole or while it arrives
      base64_runs, line_lists    and where nobody announced it
    data_uris                data: URIs, whole or in a sentence
      embedded_data_uris     and moved out of values, to be put back as they were
    block_table              how providers write media into blocks: one entry for each shape
      block_shapes           media found by it, and what is said of them
    headers                  what headers tell: pixels, seconds
    file_names               names that are safe to keep, to show and to put into a header
    soundness                whether a file is whole

It does no I/O.
"""
