"""One budget in bytes for what requests hold in memory, and who holds how much."""
