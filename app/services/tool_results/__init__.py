"""Tool results: the three stages in a row, and the transaction at their end."""
