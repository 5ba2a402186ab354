"""Resources: stores and reads files, with their aliases, texts, link files and sources of bytes."""
