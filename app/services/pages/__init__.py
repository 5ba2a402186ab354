"""Memory pages: writes, changes, reads at a level, page faults, searches and downloads."""
