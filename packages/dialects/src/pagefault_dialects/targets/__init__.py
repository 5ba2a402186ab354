"""Render targets: a module for each, the table of their rules, the media ladder.

    table       the rules of each target, as data
    profile       the shape of a row
    fitting     the limits of media there, and the images that have to be made smaller first
    ladder      the form of each medium: original, smaller image, text, one line
      media_lines    those lines, and the target of text alone
    anthropic, bedrock, …    resolved turns as a provider's messages
      base64_leaves    places of bytes in them, and their JSON text

The bytes of media are neither read nor made here.
"""
