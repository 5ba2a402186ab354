"""Bodies of requests, read with warnings for repeated keys and for halves of surrogate pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from app.models.limits import Limits
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.surrogates import lone_surrogates
from pagefault_dialects.json.values import (
    JsonValue,
    may_have_surrogates,
    parse_json,
    repair_surrogates,
)
from pagefault_dialects.model.normalized import LONE_SURROGATE_DETAIL, BodyWarning, more_warnings
from pagefault_dialects.pages.one_line import quoted_short
from pagefault_dialects.text_windows import without_lone_surrogates

_MAX_WARNINGS = 20
_LONGEST_KEY = 200


class BodyReader:
    """Reads the body of one request, and keeps the warnings about it.

    Args:
        limits: The limits of the body.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.warnings: Sequence[BodyWarning] = ()

    def read(self, body: bytes) -> JsonValue:
        """Return the JSON value of the body, numbers as they are spelled; see `read_value`.

        Raises:
            InvalidJsonError: Not JSON, not UTF-8, or a number that is not finite.
            PayloadTooLargeError: Nested too deep, or too many values.
        """
        keys = RepeatedKeys()
        value = parse_json(
            body,
            max_depth=self._limits.json_depth,
            max_nodes=self._limits.json_nodes,
            keeps_spelling=True,
            make_object=keys.make_object,
        )
        found = _repeated_keys(keys.places(value))
        if not may_have_surrogates(body):
            self.warnings = tuple(_bounded(found))
            return value
        self.warnings = tuple(_bounded(chain(found, _half_surrogates(value))))
        return repair_surrogates(value, keeps_spelling=True)


def result_warnings(body: bytes, value: JsonValue, keys: RepeatedKeys) -> Iterator[BodyWarning]:
    """Yield warnings about a request with a `result`, and how many are left.

    Their pointers lead into the result, and are empty for members beside it. The normalization
    yields the warnings for halves of surrogate pairs in the result.
    """
    found = _repeated_keys(keys.places(value), within="/result")
    if isinstance(value, dict) and may_have_surrogates(body):
        request = {name: member for name, member in value.items() if name != "result"}
        found = chain(found, map(_beside_result, _half_surrogates(request)))
    return _bounded(found)


def _beside_result(warning: BodyWarning) -> BodyWarning:
    detail = f"{warning.detail} It is at {warning.pointer or 'the top level'} of the request."
    return replace(warning, pointer="", detail=detail)


def _bounded(warnings: Iterator[BodyWarning]) -> Iterator[BodyWarning]:
    yield from islice(warnings, _MAX_WARNINGS)
    if remaining := sum(1 for _ in warnings):
        yield more_warnings(remaining)


def _repeated_keys(places: Iterator[tuple[str, str]], *, within: str = "") -> Iterator[BodyWarning]:
    for pointer, key in places:
        inside = pointer.removeprefix(within) if pointer.startswith(within) else ""
        named = quoted_short(without_lone_surrogates(key), _LONGEST_KEY)
        where = "The object" if pointer else "The request"
        yield BodyWarning(
            "repeated-key",
            without_lone_surrogates(inside),
            f"{where} has the key {named} more than once; the last is read.",
        )


def _half_surrogates(value: JsonValue) -> Iterator[BodyWarning]:
    for pointer, _ in lone_surrogates(value):
        yield BodyWarning("lone-surrogate", without_lone_surrogates(pointer), LONE_SURROGATE_DETAIL)
