"""Media: stores their bytes, reads their hints, and finds damaged media."""
