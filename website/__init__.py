"""The documentation site: the pages of the repository, and a reference of the HTTP interface."""
