"""What is wrong with a bundle, in words that repeat nothing of it."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from app.errors import Fault, InvalidBundleError, ServiceError

# What our own readers raise on a value that no service of this kind has written.
_UNREADABLE = (
    msgspec.MsgspecError,
    ServiceError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class WrongError(Exception):
    """A value in a bundle is not as it has to be; the sentence says how."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


def require(is_so: bool, sentence: str) -> None:
    """Raise WrongError with this sentence unless something is so."""
    if not is_so:
        raise WrongError(sentence)


def invalid_bundle(place: str, sentence: str) -> InvalidBundleError:
    """The error for something wrong at a place: the name of a file, `/` and the number of a line.

    An empty place is the bundle as a whole.
    """
    pointer = f"/{place}" if place else ""
    where = f"`{place}` in it" if place else "It"
    return InvalidBundleError(
        f"The bundle cannot be imported. {where} {sentence}. Nothing of it was stored: send the "
        "file again as it was exported.",
        faults=[Fault(pointer, sentence)],
    )


@contextmanager
def wrong_at(place: str) -> Iterator[None]:
    """Say of whatever turns out wrong inside that it is wrong at this place.

    Raises:
        InvalidBundleError: Something is.
    """
    try:
        yield
    except InvalidBundleError:
        raise
    except WrongError as exc:
        raise invalid_bundle(place, exc.sentence) from exc
    except _UNREADABLE as exc:
        raise invalid_bundle(place, "is not what this service writes there") from exc
