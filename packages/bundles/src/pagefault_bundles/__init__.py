"""Sessions as zip files: exported whole, and imported with the same ids and bytes.

    history.jsonl          one line for each entry, in the order of seq
    interactions.jsonl     one line for each interaction, in the order of seq
    pages.jsonl            one line for each page, oldest first
    resources.jsonl        one line for each descriptor, by id
    blobs/<sha256>         the bytes, each once, by digest
    manifest.json          the session, and the size and digest of every file above

An export of the same session gives the same bytes. An import takes these members out of any zip
that has one meaning: what counts are the sizes and digests in the manifest, and the form of each
line. See docs/bundles.md.
"""
