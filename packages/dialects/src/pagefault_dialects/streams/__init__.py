"""JSON texts scanned while they arrive; their long base64 strings are kept aside.

    json_stream              the scanner: which strings are long, where they end
    long_strings             one long string: its bytes in a draft, its text and escapes
    placeholders             short texts in the places of long strings
    placeholder_reading      a text read with placeholders, until each of them is a medium
    json_digests             the digest of a value, however it is written
    text_weight              how much memory work on a text takes

Where drafts are kept is for the caller to say.
"""
