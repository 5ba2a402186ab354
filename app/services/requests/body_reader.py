"""Bodies of requests, read with a warning for each key that an object has more than once."""

from collections.abc import Iterator, Sequence
from itertools import islice

from app.models.limits import Limits
from pagefault_dialects.json.repeated_keys import RepeatedKeys
from pagefault_dialects.json.values import JsonValue, may_have_surrogates, parse_json, repaired
from pagefault_dialects.model.normalized import Warning, more_warnings
from pagefault_dialects.pages.one_line import quoted_short
from pagefault_dialects.text_windows import without_lone_surrogates

_MOST_WARNINGS = 20
_LONGEST_KEY = 200


class BodyReader:
    """Reads the body of one request, and keeps the warnings about it.

    Args:
        limits: What the body is held to.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self.warnings: Sequence[Warning] = ()

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
            spelled=True,
            make_object=keys.make_object,
        )
        self.warnings = tuple(repeated_key_warnings(keys.places(value)))
        return repaired(value, spelled=True) if may_have_surrogates(body) else value


def repeated_key_warnings(
    places: Iterator[tuple[str, str]], *, within: str = ""
) -> Iterator[Warning]:
    """Yield a warning for each key that an object has more than once, and how many are left.

    Args:
        places: As `RepeatedKeys.places` yields them.
        within: The pointer that those of the warnings begin behind; others are empty.
    """
    for pointer, key in islice(places, _MOST_WARNINGS):
        inside = pointer.removeprefix(within) if pointer.startswith(within) else ""
        named = quoted_short(without_lone_surrogates(key), _LONGEST_KEY)
        where = "The object" if pointer else "The request"
        yield Warning(
            "repeated-key",
            without_lone_surrogates(inside),
            f"{where} has the key {named} more than once; the last is read.",
        )
    if left := sum(1 for _ in places):
        yield more_warnings(left)
