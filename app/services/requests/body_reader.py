"""Parses the JSON of request bodies, and collects warnings for the client.

A repeated key of an object and a lone surrogate in a string are valid JSON, but are most likely
errors of the client. The service accepts them with a warning.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from app.models.limits import Limits
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.surrogates import find_lone_surrogates
from pagefault_dialects.json.values import (
    JsonValue,
    may_have_surrogates,
    parse_json,
    repair_surrogates,
)
from pagefault_dialects.model.normalized import LONE_SURROGATE_DETAIL, BodyWarning, more_warnings
from pagefault_dialects.pages.line_formats import quote_short
from pagefault_dialects.text_windows import without_lone_surrogates

_MAX_WARNINGS = 20
_MAX_KEY_CHARS = 200


class BodyReader:
    """Parses the body of one request.

    Args:
        limits: The limits of depth and of the number of values.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.warnings: Sequence[BodyWarning] = ()
        """The warnings about the body, after `read` was called."""

    def read(self, body: bytes) -> JsonValue:
        """Return the JSON value of the body, with lone surrogates replaced by U+FFFD.

        Numbers keep their spelling, so that the body can be stored as it was sent.

        Raises:
            InvalidJsonError: The body is not JSON or UTF-8, or has a number that is not finite.
            PayloadTooLargeError: The body is nested too deep, or has too many values.
        """
        keys = RepeatedKeys()
        value = parse_json(
            body,
            max_depth=self._limits.json_depth,
            max_nodes=self._limits.json_nodes,
            keeps_spelling=True,
            make_object=keys.make_object,
        )
        key_warnings = _warn_of_repeated_keys(keys.find_pointers(value))
        if not may_have_surrogates(body):
            self.warnings = tuple(_limit_warnings(key_warnings))
            return value
        surrogate_warnings = _warn_of_lone_surrogates(value)
        self.warnings = tuple(_limit_warnings(chain(key_warnings, surrogate_warnings)))
        return repair_surrogates(value, keeps_spelling=True)


def find_result_warnings(
    body: bytes, value: JsonValue, keys: RepeatedKeys
) -> Iterator[BodyWarning]:
    """Yield the warnings about the body of a tool result.

    The warnings are stored in the record. So a pointer is relative to the member `result`; it is
    empty if the warning is about another member of the body. The normalization warns of lone
    surrogates in `result`, so this function does not.

    Args:
        body: The body.
        value: The parsed body.
        keys: The repeated keys that were found while the body was parsed.
    """
    warnings = _warn_of_repeated_keys(keys.find_pointers(value), root="/result")
    if isinstance(value, dict) and may_have_surrogates(body):
        other_members = {name: member for name, member in value.items() if name != "result"}
        surrogate_warnings = _warn_of_lone_surrogates(other_members)
        warnings = chain(warnings, map(_move_pointer_to_detail, surrogate_warnings))
    return _limit_warnings(warnings)


def _move_pointer_to_detail(warning: BodyWarning) -> BodyWarning:
    """Return a warning about the request, as part of the record of its result."""
    detail = f"{warning.detail} It is at {warning.pointer or 'the top level'} of the request."
    return replace(warning, pointer="", detail=detail)


def _limit_warnings(warnings: Iterator[BodyWarning]) -> Iterator[BodyWarning]:
    """Yield the first 20 warnings, and one more with the number of the others."""
    yield from islice(warnings, _MAX_WARNINGS)
    if remaining := sum(1 for _ in warnings):
        yield more_warnings(remaining)


def _warn_of_repeated_keys(
    repeated_keys: Iterator[tuple[str, str]], *, root: str = ""
) -> Iterator[BodyWarning]:
    """Yield a warning for each repeated key.

    Args:
        repeated_keys: The pointer of each object with a repeated key, and the key.
        root: The pointer to which the pointers of the warnings are relative.
    """
    for pointer, key in repeated_keys:
        relative_pointer = pointer.removeprefix(root) if pointer.startswith(root) else ""
        short_key = quote_short(without_lone_surrogates(key), _MAX_KEY_CHARS)
        where = "The object" if pointer else "The request"
        yield BodyWarning(
            "repeated-key",
            without_lone_surrogates(relative_pointer),
            f"{where} has the key {short_key} more than once; the last is read.",
        )


def _warn_of_lone_surrogates(value: JsonValue) -> Iterator[BodyWarning]:
    for pointer, _ in find_lone_surrogates(value):
        yield BodyWarning("lone-surrogate", without_lone_surrogates(pointer), LONE_SURROGATE_DETAIL)
