"""The documents that are made from the code, and the documentation site with them."""
