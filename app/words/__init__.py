"""What stored things are found by: their words, queries, ranks of matches, snippets; pure."""
