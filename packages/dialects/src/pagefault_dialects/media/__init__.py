"""Media as pure functions of bytes and values, without I/O.

types, file_type             the type of a file: names, signatures, declared types
base64_text                  base64 where it is expected, whole or while it arrives
  base64_runs, line_lists    and undeclared, in texts and lists
data_uris                    data: URIs, whole or in a sentence
  embedded_data_uris         and moved out of values, and restored unchanged
block_table                  the shapes in which providers write media into blocks
  block_shapes               matches of those shapes, with the declared properties
headers                      pixels and seconds, from headers
file_names                   names that are safe to keep, to show and to put into a header
soundness                    checks that a file is whole
"""
