"""Calls of tools in sessions: which of several with one id an answer belongs to."""
