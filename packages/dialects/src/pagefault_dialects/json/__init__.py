"""JSON: exact values in and out, pointers, and the spelling of other writers."""
