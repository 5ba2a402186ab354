"""What is wrong with a medium: found from its bytes, and the same for the same bytes."""

from dataclasses import dataclass
from typing import Literal

from app.models.resource import MediaHints

DamageCode = Literal["damaged-media", "encrypted-media"]

_NO_HINTS = MediaHints()


@dataclass(frozen=True, slots=True)
class Damage:
    """Why a medium must not be handed to a model as it is.

    Attributes:
        code: Stable; a warning of a record and, for what is shown repaired, a loss carry it.
        detail: For people and models: a sentence.
        is_repairable: Whether the picture itself is whole, and only what is said beside it is not.
        is_certain: Whether the bytes say so; nobody here knows how every kind of sound begins, and
            such a medium is not handed to a model either.
        hints: Its pixels, where it is repairable: they may have been unknown when it was stored.
    """

    code: DamageCode
    detail: str
    is_repairable: bool = False
    is_certain: bool = True
    hints: MediaHints = _NO_HINTS
