"""Words of search: of records and of queries, ranks of matches, and snippets; pure."""
