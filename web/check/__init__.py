"""Tests of the viewer in Debian's Chromium, run by `make web-check`."""
