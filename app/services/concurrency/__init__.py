"""Work in threads and in background tasks: its limits, its order, and its end."""
