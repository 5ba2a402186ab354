"""JSON: values read and written exactly, pointers, and how another writer spelled a value."""
