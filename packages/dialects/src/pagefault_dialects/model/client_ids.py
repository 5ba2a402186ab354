"""Ids that clients choose: those of sessions and pages."""

import re

CLIENT_ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
"""The pattern of session ids and page ids, which clients choose."""

CLIENT_ID = re.compile(CLIENT_ID_PATTERN.replace("$", r"\Z"))
"""The compiled pattern."""

CLIENT_ID_RULE = "starts with a letter or digit and has up to 128 of A-Z a-z 0-9 . _ : -"
"""The pattern in words, for messages of errors."""
