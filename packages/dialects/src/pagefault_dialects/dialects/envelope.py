"""Types for the tables of dialects: envelopes of tool results, and wrappers around envelopes.

An envelope is the object in which a dialect has the result of one call. A wrapper is an object,
such as a message, with one or several envelopes.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.dialects.message_forms import ConversationForm, MessageBlock, MessageForm
from pagefault_dialects.dialects.shapes import Members, Object, ResultShape
from pagefault_dialects.dialects.tool_output import (
    BlockForm,
    Content,
    ContentKind,
    ResultPath,
    ToolOutput,
)
from pagefault_dialects.media.block_shapes import value_at
from pagefault_dialects.media.block_table import MemberPath

ReadOutcome = Callable[[Members], bool | None]
"""A function that returns true if the tool failed, false if it succeeded, `None` if unknown."""


def has_no_outcome(_: Members) -> None:
    """Return `None`, since the object has no member for its outcome."""


def by_flag(name: str) -> ReadOutcome:
    """Return a function that reads the outcome from a boolean member, true for a failure."""

    def read(members: Members) -> bool | None:
        value = members[name]
        return value if isinstance(value, bool) else None

    return read


def by_value(name: str, *failures: str, success: tuple[str, ...] = ()) -> ReadOutcome:
    """Return a function that reads the outcome from a member with the name of the outcome.

    Args:
        name: The name of the member.
        failures: The values of the member for a failure.
        success: The values of the member for a success.
    """

    def read(members: Members) -> bool | None:
        outcome = members[name]
        if outcome in failures:
            return True
        return False if outcome in success else None

    return read


def by_presence(*path: str) -> ReadOutcome:
    """Return a function that returns true if there is a member at a path, otherwise `None`."""
    return lambda members: value_at(members.value, members.path(*path)) is not None or None


@dataclass(frozen=True, slots=True)
class Envelope:
    """The form of an object that is the result of one call.

    `open` separates the contents for the model, the call and the outcome from the other members of
    the object.
    """

    marks: tuple[Mark, ...]
    """The members, or values of members, by which the object is found."""
    shape: ResultShape
    """The members of the object."""
    contents: tuple[MemberPath, ...] = ()
    """The members with content for a model, in order."""
    read_as: ContentKind = "any"
    """The way in which the contents are read; see `Content.read_as`."""
    call_id: MemberPath | None = None
    """The path to the id of the call."""
    name: MemberPath | None = None
    """The path to the name of the tool."""
    failure: ReadOutcome = has_no_outcome
    """Returns whether the tool failed."""
    ignored_members: frozenset[str] = frozenset({"type", "role"})
    """Members that only identify the object, and are not kept in `ToolOutput.rest`."""
    accepts: Callable[[Members], bool] = lambda _: True
    """Returns whether an object of this shape has the form. Checks several members together."""
    choose_contents: Callable[[Members], Iterable[Content]] | None = None
    """Returns the contents, if their paths depend on other members; `contents` is then empty."""

    def open(self, dialect: str, value: Object) -> ToolOutput | None:
        """Return the result in an object; `None` if the object has another form."""
        members = self.shape.read(value)
        if members is None or not self.accepts(members):
            return None
        contents = tuple(self._find_contents(members))
        call_id, call_id_path = _find_string(members, self.call_id)
        name, name_path = _find_string(members, self.name)
        is_error = self.failure(members)
        removed: list[ResultPath] = [
            *(content.path for content in contents),
            call_id_path,
            name_path,
        ]
        removed += [(members.key(item),) for item in self.ignored_members if item in members]
        return ToolOutput(
            dialect,
            contents,
            is_error,
            call_id,
            call_id_path,
            name,
            name_path,
            rest=without_paths(value, removed),
        )

    def _find_contents(self, members: Members) -> Iterable[Content]:
        """Yield the contents that the object has."""
        if self.choose_contents is not None:
            yield from self.choose_contents(members)
            return
        for names in self.contents:
            path = members.path(*names)
            value = value_at(members.value, path)
            if value is not None:
                yield Content(value, path, self.read_as)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """The form of an object that contains results: a message, an event, a part of a message."""

    marks: tuple[Mark, ...]
    """The members, or values of members, by which the object is found."""
    shape: ResultShape
    """The members of the object."""
    inner: str
    """The member with one result, or a list of results."""
    label: str
    """The name in `ToolOutput.rest` under which the other members of the object are kept."""
    call_id: MemberPath | None = None
    """The path to the id of the call, if the object has it."""
    envelope: Envelope | None = None
    """The envelope of the inner result; `None` for any envelope of any dialect."""
    overrides_dialect: bool = False
    """True if results in the object count as results of this dialect, even if their envelope is of
    another dialect."""
    ignored_members: frozenset[str] = frozenset({"type", "role"})
    """Members that only identify the object, and are not kept in `ToolOutput.rest`."""

    def open(
        self, dialect: str, value: Object, open_any: Callable[[object], list[ToolOutput]]
    ) -> list[ToolOutput]:
        """Return the results in an object; nothing if the object has another form.

        Args:
            dialect: The name of the dialect.
            value: The object.
            open_any: Returns the results in the inner value, if no envelope is set.
        """
        members = self.shape.read(value)
        if members is None:
            return []
        inner = members[self.inner]
        if self.envelope is None:
            found = open_any(inner)
        else:
            output = self.envelope.open(dialect, inner) if isinstance(inner, dict) else None
            found = [output] if output else []
        key = members.key(self.inner)
        removed: list[ResultPath] = [
            (key,),
            *((members.key(item),) for item in self.ignored_members if item in members),
        ]
        rest: Object = {}
        for name, member in without_paths(value, removed).items():
            # SDKs write objects with only empty members for unset fields.
            remaining = without_paths(member, ()) if isinstance(member, dict) else member
            if remaining != {}:
                rest[name] = remaining
        return [self._wrap(dialect, members, item.prefix_paths(key), rest) for item in found]

    def _wrap(self, dialect: str, members: Members, output: ToolOutput, rest: Object) -> ToolOutput:
        """Return an inner result with the call and the other members of the object."""
        changed: dict[str, Any] = {"rest": output.rest | {self.label: rest}} if rest else {}
        if self.overrides_dialect:
            changed["dialect"] = dialect
        if self.call_id is not None:
            call_id, path = _find_string(members, self.call_id)
            changed |= {} if call_id is None else {"call_id": call_id, "call_id_path": path}
        return replace(output, **changed) if changed else output


@dataclass(frozen=True, slots=True)
class DialectTables:
    """The forms of one dialect, and its name."""

    name: str
    envelopes: tuple[Envelope | Wrapper, ...]
    """The forms of its tool results."""
    blocks: tuple[BlockForm, ...] = ()
    """Forms of blocks that only this dialect has. They are tried inside its envelopes only."""
    has_closed_content: bool = False
    """True if results have only blocks of the types that the dialect defines. An unknown block is
    then of a newer version; otherwise it is data of a tool."""
    messages: tuple[MessageForm, ...] = ()
    """The forms of its messages."""
    message_blocks: tuple[MessageBlock, ...] = ()
    """The forms of blocks in messages."""
    conversations: tuple[ConversationForm, ...] = ()
    """The forms of bodies that contain messages."""
    ignored_members: frozenset[str] = frozenset()
    """Members of its messages that are no part of the conversation: ids, times, counts."""


def without_paths(value: Object, removed: Iterable[ResultPath]) -> Object:
    """Return a copy of an object without the members at some paths, and without empty members."""
    inner_paths: dict[str | int, list[ResultPath]] = {}
    for path in removed:
        if path:
            inner_paths.setdefault(path[0], []).append(path[1:])
    rest: Object = {}
    for key, member in value.items():
        remaining = member
        if key in inner_paths:
            paths_in_member = inner_paths[key]
            if () in paths_in_member:
                continue
            if isinstance(member, dict):
                remaining = without_paths(member, paths_in_member)
        # `null`, and empty objects and lists, are dropped; empty strings, zeros and false stay.
        if remaining or not (remaining is None or isinstance(remaining, dict | list)):
            rest[key] = remaining
    return rest


def _find_string(members: Members, path: MemberPath | None) -> tuple[str | None, ResultPath]:
    """Return the string at a path, and the path as the object spells it.

    Without a string that is not empty, they are `None` and an empty path.
    """
    if path is None:
        return None, ()
    spelled_path = members.path(*path)
    value = value_at(members.value, spelled_path)
    return (value, spelled_path) if isinstance(value, str) and value else (None, ())
