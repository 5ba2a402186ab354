"""A conversation as every target of a rendering reads it: turns, made of items.

Stored records are composed into turns whose media are `Medium`s. The media ladder of a target
replaces each medium by a `MediaItem` or by text, after which a turn only has to be written.
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
    """An `http(s)` URL that is not fetched."""

    url: str


MediumSource: TypeAlias = StoredBytes | InlineBytes | Address


@dataclass(frozen=True, slots=True)
class AlternativeText:
    """Text that can replace a medium: a caption, a transcript, or the text it was read from."""

    kind: Literal["caption", "transcript", "text"]
    text: str


@dataclass(frozen=True, slots=True)
class BlockLabel:
    """The name and the origin of a text or a medium, as its block declares them.

    `meta` is the `_meta` of the block, and `mime_type` the type it declares for its text.
    """

    name: str | None = None
    uri: str | None = None
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    mime_type: str | None = None


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """A block as it was sent, with members that only requests of its dialect have.

    `items` is the number of items that were read from it; its `members` are in no item. `node`
    is the value to write, set when the media ladder decides to keep the block.
    """

    dialect: str
    value: JsonObject
    items: int
    members: tuple[str, ...]
    node: Any = None


@dataclass(frozen=True, slots=True)
class Medium:
    """A medium of a record.

    `pointer` is its place in the record. `size_bytes` is `None` for an address. `damage` describes
    what is wrong with its bytes. `before` is a text to write before the medium if it is rendered;
    `instead` replaces all lines about it if it is not. With `is_evicted` it is omitted to make
    room. With `is_collected` it is a file that the tool left in a folder, and `instead` names it.
    `claimed_type` is the type that a message declared, if it differs. With `is_in_text` it
    was found in a text or in a string of a value, and is not a block of its own. `detail` is the
    recorded resolution at which a model looks at it.
    """

    pointer: str
    source: MediumSource
    kind: ResourceKind
    mime_type: str
    filename: str | None
    size_bytes: int | None
    hints: MediaHints = _NO_HINTS
    words: AlternativeText | None = None
    damage: Damage | None = None
    before: str | None = None
    instead: str | None = None
    is_evicted: bool = False
    is_collected: bool = False
    claimed_type: str | None = None
    is_in_text: bool = False
    detail: ImageDetail | None = None
    label: BlockLabel | None = None
    seq: int | None = None
    """Its entry, if that is not the first entry of its turn."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has more than its items do."""

    @property
    def is_line(self) -> bool:
        """True if a rendering has a line in its place, whatever the target accepts."""
        return self.is_evicted or self.is_collected

    @property
    def declared_type(self) -> str | None:
        """The MIME type as its block wrote it, where that is known."""
        return self.label.mime_type if self.label is not None else None


@dataclass(frozen=True, slots=True)
class MediaItem:
    """A medium as a message holds it.

    With `address`, the message has that in place of the bytes: an `http(s)` URL, or an `@blob:`
    reference with `is_reference`. `detail` is the resolution at which a model looks at it; `None`
    for the default of the target.
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
    """The block that is written in place of all items that have it."""

    @property
    def filename(self) -> str | None:
        """The file name of the medium."""
        return self.medium.filename

    @property
    def url(self) -> str | None:
        """The `http(s)` URL to load it from, if it has one."""
        return None if self.is_reference else self.address


Annotations: TypeAlias = Mapping[str, JsonValue]
"""`audience`, `priority` and `lastModified` of MCP, those that are present."""


@dataclass(frozen=True, slots=True)
class TextItem:
    """Text at a pointer of the record, or a note about the value there.

    `handle` names the stored text that it renders, unless the text does. `whole_chars` is the
    length of the text before it was shortened. A `label` is rendered before it.
    """

    pointer: str
    text: str
    handle: str | None = None
    whole_chars: int | None = None
    label: BlockLabel | None = None
    seq: int | None = field(default=None, compare=False)
    """Its entry, if that is not the first entry of its turn."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has more than its items do."""


@dataclass(frozen=True, slots=True)
class DataItem:
    """A JSON value at a pointer of the record."""

    pointer: str
    value: JsonValue
    seq: int | None = field(default=None, compare=False)
    """Its entry, if that is not the first entry of its turn."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A value of the record that this kind of rendering omits, and the reason.

    `restore` tells how to read it, if not from the record; `to` is what replaces it; `handle_line`
    names it to a model. Targets of the dialects in `kept_by` do render it.
    """

    pointer: str
    what: str
    code: str
    reason: str
    restore: str | None = None
    to: str = "nothing"
    handle_line: str | None = None
    seq: int | None = None
    """Its entry, if that is not the first entry of its turn."""
    kept_by: frozenset[str] = frozenset()
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has more than its items do."""
    run: tuple[int | None, int | None, int] | None = None
    """For one line in place of a run of entries: the first, the last, and the number of turns."""


@dataclass(frozen=True, slots=True)
class SyntheticNote:
    """A note that a turn, a call or an answer is not in the record, and was added for a provider.

    `seq` is the entry that it was added for.
    """

    what: Literal["call", "answer", "line"]
    code: str
    reason: str
    seq: int | None


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A block that only its own provider understands: a file by its id, a search, a thought.

    `forms` has the block as requests have it, by dialect. Other dialects get `words`, if there are
    any, and the loss account names `what`, `code` and `reason`. `model` is the model that wrote it,
    if known.
    """

    pointer: str
    forms: Mapping[str, JsonObject]
    what: str
    code: str
    reason: str
    words: str = ""
    model: str | None = None
    seq: int | None = None
    """Its entry, if that is not the first entry of its turn."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has more than its items do."""


CACHE_MARK = "cache-mark"
"""The code of a block that only marks the provider's cache, which is no loss elsewhere."""


def is_cache_mark(item: "Item | ResolvedItem") -> TypeGuard[ProviderBlock]:
    """Return whether an item only marks its provider's cache."""
    return isinstance(item, ProviderBlock) and item.code == CACHE_MARK


Item: TypeAlias = TextItem | DataItem | Medium | Omission | SyntheticNote | ProviderBlock
ResolvedItem: TypeAlias = TextItem | DataItem | MediaItem | ProviderBlock


def block_of(item: Item) -> NativeBlock | None:
    """Return the block that an item was read from, if that has more than its items do."""
    return None if isinstance(item, DataItem | SyntheticNote) else item.block


def in_entry(item: Item, seq: int | None) -> Item:
    """Return an item with the number of its entry, for a turn that begins in another entry."""
    is_placed = isinstance(item, SyntheticNote) or item.seq is not None
    return item if is_placed else replace(item, seq=seq)


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TurnCall:
    """A tool call in a turn of the assistant.

    `approval_id` is that of the request for the user's approval, if the host made one.
    """

    call_id: str
    name: str
    arguments: dict[str, JsonValue]
    approval_id: str = ""
    thought_signature: str | None = None
    """Gemini's signature, in whatever dialect it was sent."""
    cache_control: JsonObject | None = field(default=None, compare=False)
    """Anthropic's mark for its cache."""
    entry_position: tuple[int, int] | None = field(default=None, compare=False)
    """The `seq` of its entry and its index among the calls of the entry; `None` if the entry is
    that of its turn, and the index is that in the turn."""


@dataclass(frozen=True, slots=True)
class NativeMessage:
    """A message as it was sent, and the turns that were read from it.

    `message` shares its texts with the items of `turns`. References in it point to stored media.
    `dialect` is `None` if every dialect has such messages. `model` is the model that wrote it, if
    known.
    """

    dialect: str | None
    message: JsonObject
    turns: "tuple[ComposedTurn, ...]"
    model: str | None = None


_RECORDS = "/api/"
"""The beginning of the paths of records."""


@dataclass(frozen=True, slots=True)
class Turn(Generic[_Item]):
    """Consecutive content of one role."""

    role: TurnRole
    """The role of its author; `tool` for the answer to one call."""
    items: tuple[_Item, ...]
    """In reading order; may be empty."""
    origin: str = ""
    """The path the record is read from: `/api/tool-results/…`."""
    seq: int | None = None
    """The number of its entry in the session, if it is one."""
    calls: tuple[TurnCall, ...] = ()
    """The calls of the assistant, which follow its items."""
    call_id: str = ""
    """The id of the call that a tool's turn answers."""
    tool_name: str = ""
    """The tool that was called."""
    is_error: bool = False
    """True if the tool failed."""
    structured: tuple[JsonValue] | None = None
    """`structuredContent` as recorded, in a tuple of one, since null is a value. It is among the
    items as well, unless a text there has the same content."""
    approval_id: str = ""
    """The id of the request that was denied, if the call is known by that alone."""
    is_apart: bool = False
    """True if the answer was stored alone, and not with others in a message or a list."""
    answer_number: int = 1
    """Which answer to its id it is, if known: above 1, it answers a later call of that id."""
    recorded_call: TurnCall | None = None
    """The call that a tool's turn answers, if it was stored with the answer."""
    late_for: int | None = field(default=None, compare=False)
    """The calling entry, for an answer that arrived after the conversation had continued."""
    continues_turn: bool = False
    """True if it continues the turn before it, if that is the assistant's as well."""
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    """`_meta` of a result of MCP."""
    annotations: Mapping[str, Annotations] = field(default_factory=dict)
    """MCP's annotations of items (audience, priority), by pointer."""
    natives: tuple[NativeMessage, ...] = field(default=(), compare=False, repr=False)
    """The message that it is, or is part of; several if items were joined."""
    written: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The sent messages to write in its place. `None` if its items are written; empty if the turn
    before it has the message."""

    def entry_seq(self, item_seq: int | None = None) -> int | None:
        """Return the number of the entry of an item, or of the turn; `None` outside of a session.

        Messages that are read without a session are numbered as well, but no call reads them.
        """
        return (item_seq or self.seq) if self.origin.startswith(_RECORDS) else None


ComposedTurn: TypeAlias = Turn[Item]
ResolvedTurn: TypeAlias = Turn[ResolvedItem]


def locate_calls(turns: Iterable[Turn[Any]]) -> Iterator[TurnCall]:
    """Yield the calls of turns, each with its position in its entry."""
    counts: Counter[int] = Counter()
    for turn in turns:
        for call in turn.calls:
            if turn.seq is None:
                yield call
                continue
            position = call.entry_position or (turn.seq, counts[turn.seq])
            counts[turn.seq] += 1
            yield replace(call, entry_position=position)


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
