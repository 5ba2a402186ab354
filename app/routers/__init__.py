"""The routes: one file per noun; each parses, calls one service method and returns."""
