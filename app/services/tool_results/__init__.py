"""Tool results: runs the three stages one after the other, and writes the record."""
