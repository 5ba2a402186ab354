"""Media as pure functions of bytes and values, without I/O.

    types, file_type         the type of a file: names, signatures, declared types
    base64_text              base64 where it is expected, whole or while it arrives
      base64_runs, line_lists    and where nobody announced it
    base64_runs, line_lists    and undeclared, in texts and lists
      embedded_data_uris     and moved out of values, to be put back as they were
    embedded_data_uris     and moved out of values, and restored unchanged
      block_table              the shapes in which providers write media into blocks
    block_shapes           matches of those shapes, with the declared properties
    headers                  pixels and seconds, from headers
    soundness                whether a file is whole
soundness                checks that a file is whole
It does no I/O.
"""
