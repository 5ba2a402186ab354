"""Reads JSON bodies while they arrive, without their long base64 strings in memory.

    json_stream              scans a body for long strings
    long_strings             decodes one long string into a draft, and restores its JSON
    placeholders             short strings that replace long strings while a body is parsed
    placeholder_reading      parses a body with placeholders, and finds those that are media
    json_digests             digests of JSON values, equal for equal values in any spelling
    text_weight              estimates the memory that parsing a JSON text takes

A draft is a temporary file for the decoded bytes of a string. The caller passes a function that
creates drafts, since this package does no I/O.
"""
