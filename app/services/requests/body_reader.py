"""Parses bodies, with warnings about repeated keys and lone surrogates."""

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
from pagefault_dialects.pages.one_line import quote_short
from pagefault_dialects.text_windows import without_lone_surrogates

_MAX_WARNINGS = 20
_MAX_KEY_CHARS = 200


class BodyReader:
    """Parses the body of one request. After that, `warnings` has the warnings about it.

    Args:
        limits: The limits of the body.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.warnings: Sequence[BodyWarning] = ()

    def read(self, body: bytes) -> JsonValue:
        """Return the JSON value of the body. Its numbers keep their spelling; see `read_value`.

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
        found = _warn_of_repeated_keys(keys.find_pointers(value))
        if not may_have_surrogates(body):
            self.warnings = tuple(_limit_warnings(found))
            return value
        self.warnings = tuple(_limit_warnings(chain(found, _find_lone_surrogates(value))))
        return repair_surrogates(value, keeps_spelling=True)


def find_result_warnings(
    body: bytes, value: JsonValue, keys: RepeatedKeys
) -> Iterator[BodyWarning]:
    """Yield warnings about the body of a tool result; the last one may count further warnings.

    The pointer of a warning is relative to the member `result`. If the warning is about another
    member, the pointer is empty. Warnings about lone surrogates in the result are not yielded, as
    the normalization yields them.

    Args:
        body: The body.
        value: The parsed body.
        keys: The repeated keys that were found while it was parsed.
    """
    found = _warn_of_repeated_keys(keys.find_pointers(value), within="/result")
    if isinstance(value, dict) and may_have_surrogates(body):
        request = {name: member for name, member in value.items() if name != "result"}
        found = chain(found, map(_locate_outside_result, _find_lone_surrogates(request)))
    return _limit_warnings(found)


def _locate_outside_result(warning: BodyWarning) -> BodyWarning:
    detail = f"{warning.detail} It is at {warning.pointer or 'the top level'} of the request."
    return replace(warning, pointer="", detail=detail)


def _limit_warnings(warnings: Iterator[BodyWarning]) -> Iterator[BodyWarning]:
    """Yield the first 20 warnings, and one more with the number of the others."""
    yield from islice(warnings, _MAX_WARNINGS)
    if remaining := sum(1 for _ in warnings):
        yield more_warnings(remaining)


def _warn_of_repeated_keys(
    found: Iterator[tuple[str, str]], *, within: str = ""
) -> Iterator[BodyWarning]:
    for pointer, key in found:
        relative_pointer = pointer.removeprefix(within) if pointer.startswith(within) else ""
        short_key = quote_short(without_lone_surrogates(key), _MAX_KEY_CHARS)
        where = "The object" if pointer else "The request"
        yield BodyWarning(
            "repeated-key",
            without_lone_surrogates(relative_pointer),
            f"{where} has the key {short_key} more than once; the last is read.",
        )


def _find_lone_surrogates(value: JsonValue) -> Iterator[BodyWarning]:
    for pointer, _ in find_lone_surrogates(value):
        yield BodyWarning("lone-surrogate", without_lone_surrogates(pointer), LONE_SURROGATE_DETAIL)
