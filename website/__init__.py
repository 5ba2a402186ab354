"""The documentation site, and the documents that are generated from the code."""
