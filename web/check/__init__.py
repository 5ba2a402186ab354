"""What the viewer shows, and how it looks, in Debian's Chromium; `make web-check` runs it."""
