"""The texts that stored things are found by, and snippets of them; pure."""
