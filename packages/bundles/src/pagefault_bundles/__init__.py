"""Sessions as zip files: exported whole, and imported with the same ids and bytes.

    history.jsonl          one line for each entry, in the order of `seq`
    interactions.jsonl     one line for each interaction, in the order of `seq`
    pages.jsonl            one line for each page, oldest first
    resources.jsonl        one line for each resource, in the order of ids
    blobs/<sha256>         the bytes of resources, each once, in the order of digests
    manifest.json          the session, and the size and digest of every file above

Exports of the same session are byte-identical. An import reads these members from any unambiguous
zip, and checks them against the sizes and digests in the manifest. See docs/bundles.md.
"""
