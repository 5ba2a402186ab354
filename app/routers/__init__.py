"""The HTTP edge: one file per noun, and what all of them share about answers and problems."""
