"""Pure functions of stored things: names, texts, levels, and records in other dialects."""
