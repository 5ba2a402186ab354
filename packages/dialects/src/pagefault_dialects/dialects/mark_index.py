"""An index that finds the forms that an object may have, by its members.

Trying all forms of all dialects would be slow. A form has marks, and is only tried for objects with
one of its marks. Most objects have marks of few forms or none.
"""

from collections.abc import Iterable, Iterator
from typing import Generic, Protocol, TypeVar

from pagefault_dialects.dialects.shapes import Object

Mark = str | tuple[str, str]
"""The name of a member that objects of a form have, or the name and the value of such a member."""


class _FormWithMarks(Protocol):
    @property
    def marks(self) -> tuple[Mark, ...]: ...


_Form = TypeVar("_Form", bound=_FormWithMarks)


class MarkIndex(Generic[_Form]):
    """An index of forms by their marks.

    Args:
        forms: The forms, each after the name of its dialect, in the order in which they are tried.
    """

    def __init__(self, forms: Iterable[tuple[str, _Form]]) -> None:
        self._forms = [*forms]
        self._by_member: dict[str, list[int]] = {}
        self._by_value: dict[tuple[str, str], list[int]] = {}
        for index, (_, form) in enumerate(self._forms):
            for mark in form.marks:
                if isinstance(mark, str):
                    self._by_member.setdefault(mark, []).append(index)
                else:
                    self._by_value.setdefault(mark, []).append(index)
        self._names = frozenset((*self._by_member, *(name for name, _ in self._by_value)))

    def find_candidates(self, value: Object) -> Iterator[tuple[str, _Form]]:
        """Yield the forms of which an object has a mark, each after the name of its dialect."""
        indexes: set[int] = set()
        for name in self._names & value.keys():
            indexes.update(self._by_member.get(name, ()))
            member = value[name]
            if isinstance(member, str):
                indexes.update(self._by_value.get((name, member), ()))
        return (self._forms[index] for index in sorted(indexes))
