"""Errors about invalid bundles: location, fault and remedy, without content of the bundle."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from app.errors import InvalidBundleError
from pagefault_dialects.errors import Fault, PagefaultError

SEND_AGAIN = "Send the file again as it was exported."
REPACK = (
    "Send the file as it was exported, or pack its files again with a zip program, compressed with "
    "deflate or not at all, with no password, no comment and no folder around them."
)

# Parsers of stored records expect valid values, and raise these errors for others.
_VALUE_ERRORS = (
    msgspec.MsgspecError,
    PagefaultError,
    ValueError,
    KeyError,
    IndexError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)


class BundleFormatError(Exception):
    """An invalid value in a bundle; `errors_at` adds its location.

    Args:
        sentence: The predicate of a sentence whose subject is the location, as in "has no id".
        remedy: Advice for the caller.
    """

    def __init__(self, sentence: str, remedy: str = SEND_AGAIN) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.remedy = remedy


def require(condition: bool, sentence: str, remedy: str = SEND_AGAIN) -> None:
    """Raise BundleFormatError with a sentence unless a condition is true."""
    if not condition:
        raise BundleFormatError(sentence, remedy)


@contextmanager
def errors_at(location: str) -> Iterator[None]:
    """Translate errors that an invalid value causes in the block into InvalidBundleError.

    Args:
        location: The name of a file, `/` and the number of a line; empty for the whole bundle.

    Raises:
        InvalidBundleError: An invalid value has caused an error in the block.
    """
    try:
        yield
    except InvalidBundleError:
        raise
    except BundleFormatError as exc:
        raise _invalid_bundle(location, exc.sentence, exc.remedy) from exc
    except _VALUE_ERRORS as exc:
        raise _invalid_bundle(
            location, "has a value that this service does not write there"
        ) from exc


def _invalid_bundle(location: str, sentence: str, remedy: str = SEND_AGAIN) -> InvalidBundleError:
    subject = f"`{location}` in it" if location else "It"
    return InvalidBundleError(
        f"The bundle cannot be imported. {subject} {sentence}. Nothing of it was stored. {remedy}",
        faults=[Fault(f"/{location}" if location else "", sentence)],
    )
