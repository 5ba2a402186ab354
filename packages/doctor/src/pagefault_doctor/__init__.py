"""Foreign histories: what is wrong with them, and how they are healed."""
