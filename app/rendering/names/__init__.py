"""File names: safe to keep, to show, to download and to put into a header."""
