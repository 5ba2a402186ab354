"""Model dialects: a module for each, the table of what each takes, the ladder of media.

    table       what each target takes, as data
    profile       the shape of a row
    fitting     what a medium may be there, and which images have to be made smaller first
    ladder      what becomes of each medium: itself, a smaller image, words, one line
      lines       those lines, and the target of nothing but words
    anthropic, bedrock, …    settled turns as a provider's messages
      leaves      where bytes belong in them, and their JSON text with places for those

Pure: the bytes of media are neither read nor made here.
"""
