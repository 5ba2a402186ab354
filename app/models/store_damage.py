"""What can be wrong with a stored file."""

from typing import Literal, TypeAlias

FaultKind: TypeAlias = Literal["missing", "damaged", "wrong-size", "unreadable"]
