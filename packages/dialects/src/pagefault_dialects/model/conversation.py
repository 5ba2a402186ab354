"""A conversation as every target of a rendering reads it: turns, made of items.

What is stored is composed into turns whose media are `Medium`s. Settling them for one target gives
turns in which each medium is a `MediaItem`, or words in its place, and nothing else is left to
decide.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeAlias, TypeGuard, TypeVar

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.model.resource import Damage, MediaHints, Resource, ResourceKind

_NO_HINTS = MediaHints()

TurnRole: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Bytes in the blob store."""

    resource_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class InlineBytes:
    """Bytes that are part of the record."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """An `http(s)` URL that is nowhere fetched."""

    url: str


MediumSource: TypeAlias = StoredBytes | InlineBytes | Address


@dataclass(frozen=True, slots=True)
class Words:
    """What can be read in the place of a medium: what it shows, says, or is made of."""

    kind: Literal["caption", "transcript", "text"]
    text: str


@dataclass(frozen=True, slots=True)
class BlockLabel:
    """What a text or a medium is called, and where it is from, as the block says that held it.

    `meta` is the `_meta` of that block, and `mime_type` what the block calls its text.
    """

    name: str | None = None
    uri: str | None = None
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """A block as it was sent, with members that requests of its dialect alone have.

    So many `items` were read of it, and none of its `members`. Once it is settled that it is
    written, `node` is as what.
    """

    dialect: str
    value: JsonObject
    items: int
    members: tuple[str, ...]
    node: Any = None


@dataclass(frozen=True, slots=True)
class Medium:
    """A medium of a record.

    `pointer` is where it stands in the record. `size_bytes` is `None` for an address. `damage` is
    what was found to be wrong with its bytes. `before` is a text that belongs before the
    medium where it is shown; `instead` takes the place of all lines about it where it is not.
    One that `is_evicted` is not shown, to make room. `said_type` is what a message
    called it, if that is another type. One that `is_in_text` was found in a text, or in a string of
    a value, and is no block of its own. `detail` is how closely a model is to look at it, where
    that is recorded.
    """

    pointer: str
    source: MediumSource
    kind: ResourceKind
    mime_type: str
    filename: str | None
    size_bytes: int | None
    hints: MediaHints = _NO_HINTS
    words: Words | None = None
    damage: Damage | None = None
    before: str | None = None
    instead: str | None = None
    is_evicted: bool = False
    said_type: str | None = None
    is_in_text: bool = False
    detail: ImageDetail | None = None
    label: BlockLabel | None = None
    seq: int | None = None
    """The entry it stands in, if that is another one than its turn begins in."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """What it was read of, where that says more than its items do."""

    @property
    def declared_type(self) -> str | None:
        """The MIME type as its block wrote it, where that is known."""
        return self.label.mime_type if self.label is not None else None


@dataclass(frozen=True, slots=True)
class MediaItem:
    """A medium as a message holds it.

    Where `address` is set, that stands for the bytes: an `http(s)` URL, or an `@blob:` reference
    where `is_reference`. `detail` is how closely a model is to look at it, if not as the target's
    default says.
    """

    medium: Medium
    source: MediumSource
    kind: ResourceKind
    mime_type: str
    size_bytes: int
    hints: MediaHints
    address: str | None = None
    is_reference: bool = False
    detail: ImageDetail | None = None
    block: NativeBlock | None = field(default=None, compare=False, repr=False)
    """What is written in its place, and in that of all items that have it."""

    @property
    def filename(self) -> str | None:
        """The name of the medium."""
        return self.medium.filename

    @property
    def url(self) -> str | None:
        """The `http(s)` URL to load it from, if that is how it is given."""
        return None if self.is_reference else self.address


Annotations: TypeAlias = Mapping[str, JsonValue]
"""`audience`, `priority` and `lastModified` of MCP, as far as they are there."""


@dataclass(frozen=True, slots=True)
class TextItem:
    """Text that stands at a pointer of the record, or that was written about what stands there.

    Where it shows all or some of a text that is stored, and does not name it, `handle` does. Where
    it was shortened, `whole_chars` is how many characters there were. A `label` is told before it.
    """

    pointer: str
    text: str
    handle: str | None = None
    whole_chars: int | None = None
    label: BlockLabel | None = None
    seq: int | None = field(default=None, compare=False)
    """The entry it stands in, if that is another one than its turn begins in."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """What it was read of, where that says more than its items do."""


@dataclass(frozen=True, slots=True)
class DataItem:
    """A JSON value that stands at a pointer of the record."""

    pointer: str
    value: JsonValue
    seq: int | None = field(default=None, compare=False)
    """The entry it stands in, if that is another one than its turn begins in."""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something that no rendering of this kind shows, and why.

    `restore` is how to get at it, if not by reading the record; `to` is what stands there instead;
    `handle_line` names it to a model. Targets of the dialects that it is `kept_by` do show it.
    """

    pointer: str
    what: str
    code: str
    reason: str
    restore: str | None = None
    to: str = "nothing"
    handle_line: str | None = None
    seq: int | None = None
    """The entry it stands in, if that is another one than its turn begins in."""
    kept_by: frozenset[str] = frozenset()
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """What it was read of, where that says more than its items do."""
    run: tuple[int | None, int | None, int] | None = None
    """Of a run of entries that one line stands for: the first, the last, how many turns it has."""


@dataclass(frozen=True, slots=True)
class Invented:
    """A note that a turn, or what it answers or begins with, was recorded by nobody.

    It is there for a provider. `seq` is the entry that it was written for.
    """

    what: Literal["call", "answer", "line"]
    code: str
    reason: str
    seq: int | None


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """Something that only its own provider understands: a file by its id, a search, a thought.

    `forms` has it as the requests of a dialect have it, by the names of the dialects that do. For
    all others `words` take its place, if there are any, and the account of the loss names `what`,
    `code` and `reason`. `model` is the model that thought it, where that is known.
    """

    pointer: str
    forms: Mapping[str, JsonObject]
    what: str
    code: str
    reason: str
    words: str = ""
    model: str | None = None
    seq: int | None = None
    """The entry it stands in, if that is another one than its turn begins in."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """What it was read of, where that says more than its items do."""


CACHE_MARK = "cache-mark"
"""The code of a block that is nothing but a mark for its provider's cache: no loss elsewhere."""


def is_cache_mark(item: "Item | SettledItem") -> TypeGuard[ProviderBlock]:
    """Return whether an item is nothing but a mark for its provider's cache."""
    return isinstance(item, ProviderBlock) and item.code == CACHE_MARK


Item: TypeAlias = TextItem | DataItem | Medium | LeftOut | Invented | ProviderBlock
SettledItem: TypeAlias = TextItem | DataItem | MediaItem | ProviderBlock


def block_of(item: Item) -> NativeBlock | None:
    """Return the block that an item was read of, where that says more than its items do."""
    return None if isinstance(item, DataItem | Invented) else item.block


def in_entry(item: Item, seq: int | None) -> Item:
    """Return an item with the number of its entry, for a turn that begins in another entry."""
    is_placed = isinstance(item, Invented) or item.seq is not None
    return item if is_placed else replace(item, seq=seq)


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TurnCall:
    """A tool call of an assistant's turn.

    `approval_id` is that of the request to approve it, where the host has asked its user.
    """

    call_id: str
    name: str
    arguments: dict[str, JsonValue]
    approval_id: str = ""
    thought_signature: str | None = None
    """What Gemini signed it with, in whatever dialect that came."""
    cache_control: JsonObject | None = field(default=None, compare=False)
    """Anthropic's mark that it is to be cached."""
    place: tuple[int, int] | None = field(default=None, compare=False)
    """The entry it stands in, and how many calls that has before it, where that is another place
    than its turn says."""


@dataclass(frozen=True, slots=True)
class NativeMessage:
    """A message as it was sent, and what was read of it.

    `message` shares its texts with the items of `turns`. References in it stand for stored media.
    `dialect` is `None` where the message is of every dialect that has such. `model` is the one that
    wrote it, where that is known.
    """

    dialect: str | None
    message: JsonObject
    turns: "tuple[ComposedTurn, ...]"
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Turn(Generic[_Item]):
    """What one side said at once."""

    role: TurnRole
    """Who said it; `tool` for the answer to one call."""
    items: tuple[_Item, ...]
    """In the order in which they are to be read; there may be none."""
    origin: str = ""
    """The path the record is read from: `/api/tool-results/…`."""
    seq: int | None = None
    """The number of the entry in its session, where it is one."""
    calls: tuple[TurnCall, ...] = ()
    """What an assistant calls, behind its items."""
    call_id: str = ""
    """Which call a tool's turn answers."""
    tool_name: str = ""
    """The tool that was called."""
    is_error: bool = False
    """Whether the tool failed."""
    structured: tuple[JsonValue] | None = None
    """`structuredContent` as the record has it, in a tuple of one, since null is a value it may
    have. It is among the items as well, unless a text there says the same."""
    approval_id: str = ""
    """Of a denial: the request that was denied, where the call is named by that alone."""
    is_apart: bool = False
    """Whether the answer was stored by itself, and not with others in a message or a list."""
    answer_number: int = 1
    """Which answer of its id it is, where that is known: above 1, it is that of a later call."""
    recorded_call: TurnCall | None = None
    """The call that a tool's turn answers, where it was stored with the answer."""
    late_for: int | None = field(default=None, compare=False)
    """Of an answer that came when the conversation had gone on: the entry that called."""
    joins: bool = False
    """Whether it belongs to the turn before it, if that is the assistant's as well."""
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    """`_meta` of a result, as MCP has it."""
    annotations: Mapping[str, Annotations] = field(default_factory=dict)
    """What MCP says of items, by their pointers: for whom they are, how much they matter."""
    natives: tuple[NativeMessage, ...] = field(default=(), compare=False, repr=False)
    """The message that it is, or is part of; several where items were joined."""
    written: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The messages that are written in its place, once it is settled: those that it was sent in.
    None where its items are written; empty where the turn before it has the message."""


ComposedTurn: TypeAlias = Turn[Item]
SettledTurn: TypeAlias = Turn[SettledItem]


def placed_calls(turns: Iterable[Turn[Any]]) -> Iterator[TurnCall]:
    """Yield the calls of turns, each with its place in the entry of its turn."""
    counts: Counter[int] = Counter()
    for turn in turns:
        for call in turn.calls:
            if turn.seq is None:
                yield call
                continue
            place = call.place or (turn.seq, counts[turn.seq])
            counts[turn.seq] += 1
            yield replace(call, place=place)


def stored_medium(resource: Resource, pointer: str) -> Medium:
    """Return a medium that is a resource."""
    return Medium(
        pointer=pointer,
        source=StoredBytes(resource.resource_id, resource.digest),
        kind=resource.kind,
        mime_type=resource.mime_type,
        filename=resource.filename,
        size_bytes=resource.size_bytes,
        hints=resource.hints,
    )
