"""What a request asks of the version it is going to change."""

from collections.abc import Callable
from typing import TypeAlias

WriteCondition: TypeAlias = Callable[[str | None], None]
"""Judges the digest of the stored version, `None` if there is none; raises if it may not change."""
