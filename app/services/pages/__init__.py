"""Memory pages: written, changed, read at a level, faulted, found, downloaded."""
