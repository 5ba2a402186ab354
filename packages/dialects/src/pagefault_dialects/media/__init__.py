"""Media as pure functions of bytes and values, without I/O.

types, file_type             the MIME type of a file: from its bytes, its declared type, its name
base64_text                  base64 that is declared as such, decoded at once or piece by piece
base64_runs, line_lists      base64 that nothing declares, in texts and in lists of strings
bytes_literals               bytes as Python's `repr` writes them, in texts
data_uris                    data URIs, as a whole text or inside a longer one
embedded_data_uris           data URIs in JSON values, moved out and restored
block_table                  the shapes of blocks in which providers write media
block_shapes                 finds media in blocks, with their declared properties
raw_audio                    audio samples without a header, and the WAV files of them
headers                      width, height and playing time, read from headers
decoding_cost                the memory that decoding an image takes, before it is decoded
file_names                   file names that are safe to store, to show and to send
code_languages               programming languages, their MIME types and extensions
legacy_charsets              texts that are not UTF-8
expired_links                the expiry of signed URLs
soundness                    checks whether a file is damaged
"""
