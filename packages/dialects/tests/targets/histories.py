"""Generated histories, and their renderings in memory, for tests of properties."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import pybase64
from hypothesis import strategies as st

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    DataItem,
    InlineBytes,
    Item,
    Medium,
    Omission,
    ResolvedTurn,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import (
    DerivedImage,
    ImageRecipe,
    MediaHints,
    Resource,
    resource_kind,
)
from pagefault_dialects.targets.base64_leaves import Base64Leaf, JsonLeaf, Node
from pagefault_dialects.targets.fitting import LoadedMedia, list_media, plan_media
from pagefault_dialects.targets.ladder import Ladder, ResolvedTurns
from pagefault_dialects.targets.opening_turns import insert_required_lines, split_system_text
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.texts.file_texts import FileText
from pagefault_dialects.turns.pairing import pair_calls
from tests.kit import media

MAX_BASE64 = 1_000_000

# The type, name, pixels and seconds of each file.
_FILES: Sequence[tuple[bytes, str, str | None, MediaHints]] = (
    (media.png(8, 6), "image/png", "a.png", MediaHints(8, 6)),
    (media.png(8, 6), "image/png", None, MediaHints(9_000, 6)),
    (media.jpeg(8, 6), "image/jpeg", "b.jpg", MediaHints(8, 6)),
    (media.jpeg(8, 6), "image/jpeg", "c c.jpg", MediaHints(2_500, 2_500)),
    (media.webp(8, 6), "image/webp", "d.webp", MediaHints(8, 6)),
    (media.gif(8, 6), "image/gif", "e.gif", MediaHints(8, 6)),
    (media.image("BMP", 8, 6), "image/bmp", "f.bmp", MediaHints(8, 6)),
    (media.png(8, 6), "image/png", "torn.png", MediaHints()),
    (b"<svg/>", "image/svg+xml", "g.svg", MediaHints()),
    (media.pdf(), "application/pdf", "h.report.pdf", MediaHints()),
    (media.wav(0.01), "audio/wav", "i.wav", MediaHints(duration_seconds=0.01)),
    (media.mp3(0.1), "audio/mpeg", None, MediaHints(duration_seconds=0.1)),
    (media.mp4(0.2), "video/mp4", "k.mp4", MediaHints(8, 6, 0.2)),
    (b"a,b\n1,2\n", "text/csv", "l.csv", MediaHints()),
    (b"PK\x03\x04", "application/zip", "m.zip", MediaHints()),
)
_SMALLER = media.jpeg(4, 3)

_ROLES: Sequence[TurnRole] = ("user", "assistant", "tool", "tool", "system")

_words = st.text('abc {}"\\$ref\n\u00e4', min_size=1, max_size=12).map(lambda text: f"~{text}~")
_names = st.sampled_from(["shoot", "look up", "f", ""])


@dataclass(frozen=True, slots=True)
class Rendered:
    """The result of one rendering."""

    messages: list[JsonValue]
    system: str
    loss: tuple[LossEntry, ...]
    turns: tuple[ResolvedTurn, ...]


@st.composite
def _media(draw: st.DrawFn) -> Medium:
    content, mime_type, filename, hints = draw(st.sampled_from(_FILES))
    is_stored = draw(st.booleans())
    digest = hashlib.sha256(content).hexdigest()
    return Medium(
        pointer=draw(st.sampled_from(["/parts/0", "/parts/1"])),
        source=StoredBytes(digest[:32], digest) if is_stored else InlineBytes(content),
        kind=resource_kind(mime_type),
        mime_type=mime_type,
        filename=filename,
        size_bytes=len(content),
        hints=hints,
        words=draw(st.none() | st.builds(AlternativeText, st.just("caption"), _words)),
    )


_addressed = st.builds(
    lambda mime_type: Medium(
        "/parts/2",
        Address("https://files.example/x"),
        resource_kind(mime_type),
        mime_type,
        None,
        None,
    ),
    st.sampled_from(["image/png", "application/pdf", "video/mp4"]),
)
_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | _words,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "$ref", "b"]), inner, max_size=2)
    ),
    max_leaves=4,
)
_items = st.lists(
    st.one_of(
        st.builds(TextItem, st.just("/parts/3"), _words),
        st.builds(DataItem, st.just("/meta/structuredContent"), _values),
        _media(),
        _addressed,
        st.just(Omission("/parts/4", "text", "other-audience", "For somebody else.")),
    ),
    max_size=4,
).map(tuple)


@st.composite
def histories(draw: st.DrawFn) -> tuple[ComposedTurn, ...]:
    """Return a history with calls without answers, answers without calls, and late answers."""
    turns: list[ComposedTurn] = []
    called: list[str] = []
    for seq in range(1, draw(st.integers(1, 8)) + 1):
        role: TurnRole = draw(st.sampled_from(_ROLES))
        items: tuple[Item, ...] = draw(_items)
        calls: tuple[TurnCall, ...] = ()
        call_id = name = ""
        if role == "assistant":
            ids = [f"call {seq}.{number}" for number in range(draw(st.integers(0, 2)))]
            calls = tuple(TurnCall(item, draw(_names), {"n": 1}) for item in ids)
            called += ids
        if role == "tool":
            call_id = draw(st.sampled_from([*called, f"orphan_{seq}", ""]))
            name = draw(_names)
        turns.append(
            Turn(
                role=role,
                items=items,
                origin=f"/api/sessions/s/messages/{seq}",
                seq=seq,
                calls=calls,
                call_id=call_id,
                tool_name=name,
                is_error=role == "tool" and draw(st.booleans()),
            )
        )
    return tuple(turns)


options = st.builds(
    RenderOptions,
    accept=st.sampled_from([None, ("image/*",), ("image/png", "application/pdf"), ("text/plain",)]),
    media=st.sampled_from(["inline", "inline", "reference"]),
    max_bytes=st.sampled_from([None, None, 0, 2_000, 200_000]),
    max_images=st.sampled_from([None, None, 0, 1]),
)


def render(turns: Sequence[ComposedTurn], target: str, query: RenderOptions) -> Rendered:
    """Render a history, with smaller images that are always the same."""
    return write_messages(resolve_turns(pair_calls(turns), target, query), target, query)


def resolve_turns(
    turns: Sequence[ComposedTurn], target: str, query: RenderOptions
) -> ResolvedTurns:
    """Resolve the media of a conversation."""
    profile = TARGETS[target]
    conversation = insert_required_lines(turns, profile, is_whole=True)
    most = min(
        limit for limit in (MAX_BASE64, profile.request_bytes, query.max_bytes) if limit is not None
    )
    places = list_media(conversation)
    media_plan = plan_media(conversation, profile, query, max_base64=most)
    loaded = LoadedMedia(
        images={
            index: _made(recipe)
            for index, recipe in media_plan.images.items()
            if places[index].medium.mime_type != "image/bmp"
        },
        texts={
            index: FileText(_content(places[index].medium).decode()) for index in media_plan.texts
        },
    )
    return Ladder(profile, query, max_base64=most, sign=None).resolve(conversation, loaded)


def write_messages(resolved: ResolvedTurns, target: str, query: RenderOptions) -> Rendered:
    """Return the messages of resolved turns."""
    profile = TARGETS[target]
    system, message_turns = split_system_text(resolved.turns, profile)
    messages = profile.write(message_turns, profile, query.detail or profile.default_detail)
    return Rendered(
        [_plain(message) for message in messages], system, resolved.loss, resolved.turns
    )


def _made(recipe: ImageRecipe) -> DerivedImage:
    mime_type = "image/jpeg" if "image/jpeg" in recipe.types else "image/png"
    content = _SMALLER if mime_type == "image/jpeg" else media.png(4, 3)
    digest = hashlib.sha256(content).hexdigest()
    _BY_DIGEST.setdefault(digest, content)
    return DerivedImage(
        Resource(
            resource_id=digest[:32],
            digest=digest,
            mime_type=mime_type,
            filename=None,
            size_bytes=len(content),
            kind="image",
            hints=MediaHints(4, 3),
            created_at=datetime(2026, 1, 1, tzinfo=UTC),
        ),
        is_first_picture=False,
    )


_BY_DIGEST: dict[str, bytes] = {
    hashlib.sha256(content).hexdigest(): content for content, *_ in _FILES
}


def _content(medium: Medium) -> bytes:
    source = medium.source
    if isinstance(source, InlineBytes):
        return source.data
    return _BY_DIGEST[source.digest] if isinstance(source, StoredBytes) else b""


def _plain(node: Node) -> JsonValue:
    if isinstance(node, dict):
        return {key: _plain(member) for key, member in node.items()}
    if isinstance(node, list):
        return [_plain(member) for member in node]
    if isinstance(node, Base64Leaf):
        source = node.attachment.source
        content = (
            source.data
            if isinstance(source, InlineBytes)
            else _BY_DIGEST[source.digest]
            if isinstance(source, StoredBytes)
            else b""
        )
        return node.head + pybase64.b64encode(content).decode()
    return json.loads(json_text(node.value)) if isinstance(node, JsonLeaf) else node


def strings_of(value: JsonValue) -> str:
    """Return every string of a value as one text, keys included."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}\n{strings_of(member)}" for key, member in value.items())
    if isinstance(value, list):
        return "\n".join(map(strings_of, value))
    return value if isinstance(value, str) else ""
