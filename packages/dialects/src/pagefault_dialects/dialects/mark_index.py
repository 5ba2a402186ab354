"""Tables of forms, indexed by members of their objects."""

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from pagefault_dialects.dialects.shapes import Object

Mark = str | tuple[str, str]
"""A member that identifies an object, or a member and its value."""


class _Marked(Protocol):
    @property
    def marks(self) -> tuple[Mark, ...]: ...


_Form = TypeVar("_Form", bound=_Marked)


class MarkIndex(Generic[_Form]):
    """The forms of all dialects, in order, by their marks."""

    def __init__(self, forms: Iterable[tuple[str, _Form]]) -> None:
        self._forms = [*forms]
        self._by_member: dict[str, list[int]] = {}
        self._by_value: dict[tuple[str, str], list[int]] = {}
        for number, (_, form) in enumerate(self._forms):
            for mark in form.marks:
                if isinstance(mark, str):
                    self._by_member.setdefault(mark, []).append(number)
                else:
                    self._by_value.setdefault(mark, []).append(number)
        self._names = frozenset((*self._by_member, *(name for name, _ in self._by_value)))

    def candidates(self, value: Object) -> Iterator[tuple[str, _Form]]:
        """Yield the possible forms of an object, each with the name of its dialect."""
        numbers: set[int] = set()
        for name in self._names & value.keys():
            numbers.update(self._by_member.get(name, ()))
            member = value[name]
            if isinstance(member, str):
                numbers.update(self._by_value.get((name, member), ()))
        return (self._forms[number] for number in sorted(numbers))
