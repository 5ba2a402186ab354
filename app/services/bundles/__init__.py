"""Sessions as files: written out whole, and read back with the same ids and the same bytes.

    history.jsonl          one line for each entry, in the order of seq
    interactions.jsonl     one line for each interaction, in the order of seq
    pages.jsonl            one line for each page, oldest first
    resources.jsonl        one line for each descriptor, by id
    blobs/<sha256>         the bytes, each once, by digest
    manifest.json          the session, and the size and digest of every file above

A bundle has one form only: whoever writes the same session writes the same bytes. So it is taken
only if writing what was read from it gives the very file that came.
"""
