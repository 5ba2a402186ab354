"""Pure functions of stored things: names, summaries, and records in other dialects."""
