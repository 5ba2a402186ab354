"""The shape of warnings about the body of a request, in the answer to it."""

from collections.abc import Sequence

from app.wire.shape import Shape
from pagefault_dialects.model.normalized import Warning


class BodyWarning(Shape, kw_only=True):
    """Something in the body that was not taken as it stands, at a JSON pointer into the body."""

    code: str
    pointer: str
    detail: str


def body_warnings(warnings: Sequence[Warning]) -> tuple[BodyWarning, ...]:
    """Return warnings as they stand in an answer."""
    return tuple(
        BodyWarning(code=each.code, pointer=each.pointer, detail=each.detail) for each in warnings
    )
