"""A conversation as turns that consist of items, from which every target writes its messages.

Stored records are composed into turns whose items include media (`Medium`). The media ladder of a
target replaces each medium by a `MediaItem` or by a text. Then the target only has to write the
turns. A *line* is a text that replaces an item in a rendering, and says what was left out.
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
    """The name and the origin of a text or a medium, as its block declares them."""

    name: str | None = None
    uri: str | None = None
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    """The `_meta` of the block."""
    mime_type: str | None = None
    """The MIME type that the block declares for its text."""


@dataclass(frozen=True, slots=True)
class NativeBlock:
    """A block as it was sent, with members that only requests of its dialect have."""

    dialect: str
    value: JsonObject
    items: int
    """The number of items that were read from the block."""
    members: tuple[str, ...]
    """The members of the block that no item has."""
    node: Any = None
    """The value to write, once the media ladder has decided to write the block as it was sent."""


@dataclass(frozen=True, slots=True)
class Medium:
    """A medium of a record."""

    pointer: str
    """The JSON pointer to the medium in the record."""
    source: MediumSource
    kind: ResourceKind
    mime_type: str
    filename: str | None
    size_bytes: int | None
    """`None` for an `Address`."""
    hints: MediaHints = _NO_HINTS
    words: AlternativeText | None = None
    """A text that can replace the medium."""
    damage: Damage | None = None
    before: str | None = None
    """A text to write before the medium, if the medium is rendered."""
    instead: str | None = None
    """The line to write if the medium is not rendered, in place of the lines of the ladder."""
    is_evicted: bool = False
    """True if the medium is left out to save tokens."""
    is_collected: bool = False
    """True for a file that the tool wrote into a folder. It is rendered as the line `instead`."""
    claimed_type: str | None = None
    """The MIME type that a message declared, if it differs from `mime_type`."""
    is_in_text: bool = False
    """True if the medium was found inside a text or a JSON value, and is not a block of its own."""
    detail: ImageDetail | None = None
    """The `detail` of an image block, as it was sent."""
    label: BlockLabel | None = None
    seq: int | None = None
    """The number of its entry, if that is not the first entry of its turn."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has members that no item has."""

    @property
    def is_line(self) -> bool:
        """True if every target writes a line in place of the medium."""
        return self.is_evicted or self.is_collected

    @property
    def declared_type(self) -> str | None:
        """The MIME type as its block declared it, if known."""
        return self.label.mime_type if self.label is not None else None


@dataclass(frozen=True, slots=True)
class MediaItem:
    """A medium as a message of the target has it, perhaps a smaller or repaired one."""

    medium: Medium
    """The medium of the record."""
    source: MediumSource
    kind: ResourceKind
    mime_type: str
    size_bytes: int
    hints: MediaHints
    address: str | None = None
    """The URL or the reference that the message has in place of the bytes."""
    is_reference: bool = False
    """True if `address` is an `@blob:` reference, false if it is an `http(s)` URL."""
    detail: ImageDetail | None = None
    """The `detail` of the image block; `None` for the default of the target."""
    block: NativeBlock | None = field(default=None, compare=False, repr=False)
    """The block that is written in place of all items with this block."""

    @property
    def filename(self) -> str | None:
        """The file name of the medium."""
        return self.medium.filename

    @property
    def url(self) -> str | None:
        """The `http(s)` URL of the medium; `None` if the message has its bytes or a reference."""
        return None if self.is_reference else self.address


Annotations: TypeAlias = Mapping[str, JsonValue]
"""The annotations of MCP that a block has: `audience`, `priority`, `lastModified`."""


@dataclass(frozen=True, slots=True)
class TextItem:
    """A text of the record, or a note about a value of the record."""

    pointer: str
    """The JSON pointer to the text or the value."""
    text: str
    handle: str | None = None
    """The reference of the stored text, unless `text` itself has it."""
    whole_chars: int | None = None
    """The length of the text before it was shortened, if it was."""
    label: BlockLabel | None = None
    """The name and origin that are rendered before the text."""
    seq: int | None = field(default=None, compare=False)
    """The number of its entry, if that is not the first entry of its turn."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has members that no item has."""


@dataclass(frozen=True, slots=True)
class DataItem:
    """A JSON value of the record."""

    pointer: str
    """The JSON pointer to the value."""
    value: JsonValue
    seq: int | None = field(default=None, compare=False)
    """The number of its entry, if that is not the first entry of its turn."""


@dataclass(frozen=True, slots=True)
class Omission:
    """A value of the record that a rendering leaves out, with the fields of its `LossEntry`."""

    pointer: str
    """The JSON pointer to the value."""
    what: str
    code: str
    reason: str
    restore: str | None = None
    """The way to read the value, if that is not the record."""
    to: str = "nothing"
    """What replaces the value."""
    handle_line: str | None = None
    """A line with the handle of the value, for the model."""
    seq: int | None = None
    """The number of its entry, if that is not the first entry of its turn."""
    kept_by: frozenset[str] = frozenset()
    """The dialects whose targets render the value."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has members that no item has."""
    run: tuple[int | None, int | None, int] | None = None
    """If one line replaces a run of entries: the first, the last, and the number of turns."""


@dataclass(frozen=True, slots=True)
class SyntheticNote:
    """A note that a turn, a call or a result was added for a provider."""

    what: Literal["call", "answer", "line"]
    code: str
    reason: str
    seq: int | None
    """The entry for which it was added."""


@dataclass(frozen=True, slots=True)
class ProviderBlock:
    """A block that only its own provider understands: a file by its id, a search, a thought.

    In a rendering for another dialect, the loss account has an entry with `what`, `code` and
    `reason`.
    """

    pointer: str
    """The JSON pointer to the block in the record."""
    forms: Mapping[str, JsonObject]
    """The block in requests, by dialect."""
    what: str
    code: str
    reason: str
    words: str = ""
    """A text that replaces the block for other dialects; empty if there is none."""
    model: str | None = None
    """The model that wrote the block, if known."""
    seq: int | None = None
    """The number of its entry, if that is not the first entry of its turn."""
    block: "NativeBlock | None" = field(default=None, compare=False, repr=False)
    """The block it was read from, if that has members that no item has."""


CACHE_MARK = "cache-mark"
"""The code of a block that only marks a position for the provider's cache.

Leaving it out for another provider is no loss.
"""


def is_cache_mark(item: "Item | ResolvedItem") -> TypeGuard[ProviderBlock]:
    """Return whether an item is a block that only marks a position for the provider's cache."""
    return isinstance(item, ProviderBlock) and item.code == CACHE_MARK


Item: TypeAlias = TextItem | DataItem | Medium | Omission | SyntheticNote | ProviderBlock
ResolvedItem: TypeAlias = TextItem | DataItem | MediaItem | ProviderBlock


def block_of(item: Item) -> NativeBlock | None:
    """Return the block that an item was read from, if it has members that no item has."""
    return None if isinstance(item, DataItem | SyntheticNote) else item.block


def with_entry_seq(item: Item, seq: int | None) -> Item:
    """Return an item with the number of its entry, for a turn that begins in another entry."""
    has_seq = isinstance(item, SyntheticNote) or item.seq is not None
    return item if has_seq else replace(item, seq=seq)


_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class TurnCall:
    """A tool call in a turn of the assistant."""

    call_id: str
    name: str
    arguments: dict[str, JsonValue]
    approval_id: str = ""
    """The id of the request for the user's approval, if the host made one."""
    thought_signature: str | None = None
    """The signature of Gemini, which any dialect may carry."""
    cache_control: JsonObject | None = field(default=None, compare=False)
    """Anthropic's mark for its cache."""
    entry_position: tuple[int, int] | None = field(default=None, compare=False)
    """The `seq` of its entry, and its index among the calls of that entry.

    `None` if both are those of its turn.
    """


@dataclass(frozen=True, slots=True)
class NativeMessage:
    """A message as it was sent, and the turns that were read from it."""

    dialect: str | None
    """`None` if every dialect has such messages."""
    message: JsonObject
    """The message, with references in place of media that are stored."""
    turns: "tuple[ComposedTurn, ...]"
    model: str | None = None
    """The model that wrote the message, if known."""


_RECORD_PATH = "/api/"
"""The beginning of the URL paths of records."""


@dataclass(frozen=True, slots=True)
class Turn(Generic[_Item]):
    """Consecutive content of one role."""

    role: TurnRole
    """The author; `tool` for the result of one call."""
    items: tuple[_Item, ...]
    """The content in reading order; may be empty."""
    origin: str = ""
    """The URL path of the record, such as `/api/tool-results/…`."""
    seq: int | None = None
    """The number of the first entry, if the turn is part of a session."""
    calls: tuple[TurnCall, ...] = ()
    """The calls of an assistant, which come after the items."""
    call_id: str = ""
    """The id of the call whose result the turn is."""
    tool_name: str = ""
    """The name of the tool that was called."""
    is_error: bool = False
    """True if the tool failed."""
    structured: tuple[JsonValue] | None = None
    """The value of `structuredContent`, in a tuple of one element, since it may be null.

    It is also one of the items, unless a text with the same content is.
    """
    approval_id: str = ""
    """The id of the request for approval that was denied, if the id of the call is unknown."""
    is_stored_alone: bool = False
    """True if the result was stored alone, and not with others in a message or a list."""
    answer_number: int = 1
    """The number of the call that the result belongs to, among the calls with the same id."""
    recorded_call: TurnCall | None = None
    """The call whose result the turn is, if it was stored with the result."""
    late_call_seq: int | None = field(default=None, compare=False)
    """The `seq` of the call's entry, if the conversation had continued before this result came."""
    continues_turn: bool = False
    """True if the turn continues the turn before it, provided that both are of the assistant."""
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    """`_meta` of a result of MCP."""
    annotations: Mapping[str, Annotations] = field(default_factory=dict)
    """MCP's annotations of items (audience, priority), by pointer."""
    native_messages: tuple[NativeMessage, ...] = field(default=(), compare=False, repr=False)
    """The message that the turn was read from, as it was sent; several if turns were joined."""
    copied_messages: tuple[Any, ...] | None = field(default=None, compare=False, repr=False)
    """The sent messages that a target copies; `None` if the target writes the items instead.

    Empty if a turn before this one has the message already.
    """

    def entry_seq(self, item_seq: int | None = None) -> int | None:
        """Return the number of the entry of an item, or of the turn; `None` outside of a session.

        Messages of a request that is not stored have numbers too, but no entries that a tool could
        read.
        """
        return (item_seq or self.seq) if self.origin.startswith(_RECORD_PATH) else None


ComposedTurn: TypeAlias = Turn[Item]
ResolvedTurn: TypeAlias = Turn[ResolvedItem]


def locate_calls(turns: Iterable[Turn[Any]]) -> Iterator[TurnCall]:
    """Yield the calls of turns, each with its `entry_position`, if it is part of a session."""
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
    """Return a stored resource as a medium at a JSON pointer of a record."""
    return Medium(
        pointer=pointer,
        source=StoredBytes(resource.resource_id, resource.digest),
        kind=resource.kind,
        mime_type=resource.mime_type,
        filename=resource.filename,
        size_bytes=resource.size_bytes,
        hints=resource.hints,
    )
