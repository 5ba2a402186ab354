"""Rendered memory pages: levels, blocks, typed content, detail view, manifest.

    levels             derives the levels REDUCED, ABSTRACT and REFERENCE from the content
    effective_level    finds the level that is rendered for a requested level
    page_blocks        a page as content blocks of a tool message
    typed_content      a page as a typed model, and as one JSON string
    detail             the manifest of pages, and a page as lines for a terminal
    page_text          the texts of a page: of a level, and for search
    descriptors        properties from the client's description or from the content
    reduced_data       smaller forms of JSON data
    sizes              sizes and estimated tokens of levels
    languages          the programming language of a text page
    line_formats       values as one line of text
    instructions       the instructions of the memory for a model's prompt

All functions are pure. They do not read media: the caller passes the URL or the base64 of the image
that is attached.
"""
