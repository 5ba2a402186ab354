"""JSON that is parsed and written without loss, JSON pointers, and spellings of JSON texts."""
