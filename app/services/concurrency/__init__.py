"""Work off the event loop and beside it: how much at once, in whose turn, and to its end."""
