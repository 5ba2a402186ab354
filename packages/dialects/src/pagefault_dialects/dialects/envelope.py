"""Tables of the envelopes of results: an entry for each object of a dialect's protocol."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.dialects.message_forms import ConversationForm, MessageBlock, MessageForm
from pagefault_dialects.dialects.shapes import Members, Object, ResultShape
from pagefault_dialects.dialects.tool_output import BlockForm, Content, Reading, Steps, ToolOutput
from pagefault_dialects.media.block_shapes import value_at
from pagefault_dialects.media.block_table import MemberPath

Failure = Callable[[Members], bool | None]


def says_nothing(_: Members) -> None:
    """Return `None`: the object has no member for failures."""


def by_flag(name: str) -> Failure:
    """Return a reader of a member that is true for a failure."""

    def read(members: Members) -> bool | None:
        value = members[name]
        return value if isinstance(value, bool) else None

    return read


def by_value(name: str, *failures: str, success: tuple[str, ...] = ()) -> Failure:
    """Return a reader of a member whose value names the outcome."""

    def read(members: Members) -> bool | None:
        word = members[name]
        if word in failures:
            return True
        return False if word in success else None

    return read


def by_presence(*path: str) -> Failure:
    """Return a reader of a member that is present for a failure."""
    return lambda members: value_at(members.value, members.path(*path)) is not None or None


@dataclass(frozen=True, slots=True)
class Envelope:
    """An object that is the result of one call."""

    marks: tuple[Mark, ...]
    shape: ResultShape
    contents: tuple[MemberPath, ...]
    """The members with content for a model, in order."""
    reading: Reading = "any"
    call_id: MemberPath | None = None
    name: MemberPath | None = None
    failure: Failure = says_nothing
    frame: frozenset[str] = frozenset({"type", "role"})
    """Members that only identify the object, and are dropped."""
    accepts: Callable[[Members], bool] = lambda _: True
    """Checks conditions across members."""
    choose: Callable[[Members], Iterable[Content]] | None = None
    """Returns the contents, if they are not a list of members."""

    def open(self, dialect: str, value: Object) -> ToolOutput | None:
        """Return the result, `None` for other objects."""
        members = self.shape.read(value)
        if members is None or not self.accepts(members):
            return None
        contents = tuple(self._contents(members))
        call_id, call_path = _string_at(members, self.call_id)
        name, name_path = _string_at(members, self.name)
        is_error = self.failure(members)
        removed: list[Steps] = [*(content.path for content in contents), call_path, name_path]
        removed += [(members.key(item),) for item in self.frame if item in members]
        return ToolOutput(
            dialect,
            contents,
            is_error,
            call_id,
            call_path,
            name,
            name_path,
            rest=without_paths(value, removed),
        )

    def _contents(self, members: Members) -> Iterable[Content]:
        if self.choose is not None:
            yield from self.choose(members)
            return
        for names in self.contents:
            path = members.path(*names)
            value = value_at(members.value, path)
            if value is not None:
                yield Content(value, path, self.reading)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """An object with results of calls inside: a message, an event, one part of a message."""

    marks: tuple[Mark, ...]
    shape: ResultShape
    inner: str
    """The member with one result, or a list of them."""
    label: str
    """The name of its other members in the rest."""
    call_id: MemberPath | None = None
    name: MemberPath | None = None
    envelope: Envelope | None = None
    """The envelope inside; `None` for any envelope of any dialect."""
    renames: bool = False
    """True if results inside are reported as results of this dialect."""
    frame: frozenset[str] = frozenset({"type", "role"})

    def open(
        self, dialect: str, value: Object, answers: Callable[[object], list[ToolOutput]]
    ) -> list[ToolOutput]:
        """Return the results inside, empty for other objects."""
        members = self.shape.read(value)
        if members is None:
            return []
        inner = members[self.inner]
        if self.envelope is None:
            found = answers(inner)
        else:
            opened = self.envelope.open(dialect, inner) if isinstance(inner, dict) else None
            found = [opened] if opened else []
        key = members.key(self.inner)
        removed: list[Steps] = [
            (key,),
            *((members.key(item),) for item in self.frame if item in members),
        ]
        rest = without_paths(value, removed)
        for name, member in [*rest.items()]:
            # SDKs write empty objects with empty members.
            if isinstance(member, dict) and not (inner_rest := without_paths(member, ())):
                del rest[name]
            elif isinstance(member, dict):
                rest[name] = inner_rest
        return [self._wrap(dialect, members, item.inside(key), rest) for item in found]

    def _wrap(self, dialect: str, members: Members, output: ToolOutput, rest: Object) -> ToolOutput:
        changed: dict[str, Any] = {"rest": output.rest | {self.label: rest}} if rest else {}
        if self.renames:
            changed["dialect"] = dialect
        if self.call_id is not None:
            call_id, path = _string_at(members, self.call_id)
            changed |= {} if call_id is None else {"call_id": call_id, "call_id_path": path}
        if self.name is not None and output.name is None:
            name, path = _string_at(members, self.name)
            changed |= {} if name is None else {"name": name, "name_path": path}
        return replace(output, **changed) if changed else output


@dataclass(frozen=True, slots=True)
class Dialect:
    """The tables of one dialect. Pure: no I/O, no state."""

    name: str
    envelopes: tuple[Envelope | Wrapper, ...]
    blocks: tuple[BlockForm, ...] = ()
    """Blocks that only this dialect has, read only inside its envelopes."""
    has_closed_content: bool = False
    """True if the protocol lists the blocks of content, so unknown blocks are no tool's data."""
    messages: tuple[MessageForm, ...] = ()
    message_blocks: tuple[MessageBlock, ...] = ()
    conversations: tuple[ConversationForm, ...] = ()
    frame: frozenset[str] = frozenset()
    """Members of its messages outside of the conversation: ids, times, counts."""


def without_paths(value: Object, removed: Iterable[Steps]) -> Object:
    """Return a copy of an object without the members at some paths and without empty ones."""
    below: dict[str | int, list[Steps]] = {}
    for path in removed:
        if path:
            below.setdefault(path[0], []).append(path[1:])
    rest: Object = {}
    for key, member in value.items():
        kept = member
        if key in below:
            deeper = below[key]
            if () in deeper:
                continue
            kept = without_paths(member, deeper) if isinstance(member, dict) else member
        # Of the empty values, only objects and lists are dropped.
        if kept or not (kept is None or isinstance(kept, dict | list)):
            rest[key] = kept
    return rest


def _string_at(members: Members, path: MemberPath | None) -> tuple[str | None, Steps]:
    if path is None:
        return None, ()
    where = members.path(*path)
    value = value_at(members.value, where)
    return (value, where) if isinstance(value, str) and value else (None, ())
