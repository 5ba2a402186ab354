"""Messages that are at home in a target: they are written as they were sent.

A message is read as turns, and a conversation may change these: answers move behind their calls,
ids are fitted, what is old is evicted, media are made smaller. Where nothing of that befell any
turn of a message, and the requests of the target have such messages, the message itself is written,
with the bytes of stored media in the places of their references. Its members that only responses
have are left out by the target's own `as_request`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias, cast

from pagefault_dialects.json.values import JsonObject, JsonValue, says_something
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    DataItem,
    Item,
    MediaItem,
    Medium,
    NativeMessage,
    Omission,
    ProviderBlock,
    ResolvedTurn,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.base64_leaves import Base64Leaf, JsonLeaf, Node
from pagefault_dialects.targets.fitting import MediumRef, Obstacle
from pagefault_dialects.targets.profile import Profile, matches
from pagefault_dialects.targets.thoughts import holds_thoughts, takes_thoughts

_REFERENCE = re.compile("@blob:([0-9a-f]{32})")
# What a model wrote into a call stays as it is.
_WRITTEN = frozenset({"arguments", "input", "args"})
_DATA_URIS = frozenset({"url", "image_url", "file_data"})
# Media stand no deeper in a message, and what is deeper is written as it is.
_DEEPEST = 12
_SHALLOW = 3
# What tells blocks of others from Anthropic's, whose types have no mark in common.
_OF_OTHERS = frozenset(
    {
        *("image_url", "input_audio", "file", "refusal", "input_text", "output_text"),
        *("input_image", "input_file", "tool-call", "tool-result", "resource", "resource_link"),
        *("audio", "video", "function_call", "tool_call", "reasoning"),
    }
)
_OF_FUNCTIONS = ("function_call", "function_call_output")
_SOURCED = frozenset({"image", "document"})

MediaByResource: TypeAlias = Mapping[str, MediaItem]


@dataclass(frozen=True, slots=True)
class NativeRun:
    """Turns, from `start` on, that are what these messages say, and nothing else."""

    start: int
    stop: int
    messages: tuple[tuple[NativeMessage, JsonObject], ...]
    """Each message, and as the requests of the target have it."""

    def write(self, media: MediaByResource) -> tuple[Node, ...]:
        """Return the messages as they are written, with these media in their places."""
        return tuple(write_node(request, media) for _, request in self.messages)


def native_runs(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> Iterator[NativeRun]:
    """Yield the runs of turns that may be written as they were sent, were it for their texts."""
    if profile.as_request is None:
        return
    start = 0
    while start < len(turns):
        run = _run_at(turns, start, profile, options) if turns[start].natives else None
        if run is not None:
            yield run
        start = start + 1 if run is None else run.stop


def runs_at_home(
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
    places: Sequence[MediumRef],
    obstacles: Sequence[Obstacle | None],
) -> list[NativeRun]:
    """Return the runs of turns that are written as they were sent, if all their media fit in.

    Args:
        turns: The conversation.
        profile: The target.
        options: What the caller asked for.
        places: All media.
        obstacles: Why each cannot stand where it is.
    """
    media = places_by_turn(turns)
    runs = [
        run
        for run in native_runs(turns, profile, options)
        if all(_is_at_home(profile, places[at], obstacles[at]) for at in media_of(run, media))
    ]
    return _with_partners(runs, turns)


def places_by_turn(turns: Sequence[ComposedTurn]) -> list[range]:
    """Return for each turn the numbers of its media."""
    places: list[range] = []
    start = 0
    for turn in turns:
        stop = start + sum(isinstance(item, Medium) for item in turn.items)
        places.append(range(start, stop))
        start = stop
    return places


def media_of(run: NativeRun, media: Sequence[range]) -> range:
    """Return the numbers of the media of a run."""
    return range(media[run.start].start, media[run.stop - 1].stop)


def _is_at_home(profile: Profile, place: MediumRef, obstacle: Obstacle | None) -> bool:
    """Return whether a medium may stand where it is in a message of the target's own dialect.

    A picture that a model made, or a file at an address that only its provider loads, is written
    nowhere else.
    """
    if obstacle is None:
        return True
    medium, rule = place.medium, profile.rule(place.medium.kind)
    match obstacle.code:
        case "no-media-here":
            return True
        case "address-not-taken":
            return rule is not None and not rule.addresses
        case "type-not-taken":
            if isinstance(medium.source, Address) and rule is not None:
                return rule.loads(medium.source.url)
            return matches(medium.mime_type, profile.home_types)
    return False


def _with_partners(runs: list[NativeRun], turns: Sequence[ComposedTurn]) -> list[NativeRun]:
    """Return runs without calls of the provider's own kinds whose answers are written anew.

    Nor have they such answers without their calls: written anew, both are of functions.
    """
    own = {run.start: _own_calls(run) for run in runs}
    while any(own[run.start] for run in runs):
        inside = {index for run in runs for index in range(run.start, run.stop)}
        anew = {
            call_id
            for index, turn in enumerate(turns)
            if index not in inside
            for call_id in (turn.call_id, *(call.call_id for call in turn.calls))
        }
        kept = [run for run in runs if own[run.start].isdisjoint(anew)]
        if len(kept) == len(runs):
            break
        runs = kept
    return runs


def _own_calls(run: NativeRun) -> set[str]:
    return {
        request["call_id"]
        for _, request in run.messages
        if isinstance(request.get("call_id"), str) and request.get("type") not in _OF_FUNCTIONS
    }


def has_place_for(run: NativeRun, media: MediaByResource) -> bool:
    """Return whether each stored medium has its place in the messages of a run."""
    if not media:
        return True
    found = {each for native, _ in run.messages for each in references(native.message)}
    return media.keys() <= found


def write_runs(
    turns: Sequence[ResolvedTurn],
    write: Callable[[Sequence[ResolvedTurn]], list[Node]],
    *,
    content: str = "",
) -> list[Node]:
    """Return the messages of turns: those that were sent, and what `write` makes of all others.

    Args:
        turns: Settled turns.
        write: Writes turns by their items.
        content: The member of a message with its blocks, where all answers of a turn have to stand
            in one message.
    """
    messages: list[Node] = []
    was_answer = False
    for is_native, group in groupby(turns, key=lambda turn: turn.written is not None):
        run = [*group]
        for part in ([turn] for turn in run) if is_native else [run]:
            sent = [*(part[0].written or ())] if is_native else write(part)
            if content and was_answer and part[0].role == "tool" and sent:
                messages[-1] = _with_blocks_of(messages[-1], sent.pop(0), content)
            messages += sent
            was_answer = part[-1].role == "tool"
    return messages


def _with_blocks_of(message: Node, following: Node, content: str) -> Node:
    """Return a message with the blocks of the one behind it."""
    both = [each for each in (message, following) if isinstance(each, dict)]
    contents = [each[content] for each in both]
    blocks = [block for each in contents if isinstance(each, list) for block in each]
    return {**both[0], content: blocks}


def members_of_request(
    sent: JsonObject, members: frozenset[str], of_responses: frozenset[str]
) -> JsonObject | None:
    """Return the members of a message that requests have; `None` if it says something in others.

    Args:
        sent: The message.
        members: Those of requests.
        of_responses: Those that only responses have.
    """
    others = sent.keys() - members - of_responses
    if any(says_something(sent[name]) for name in others):
        return None
    return {name: value for name, value in sent.items() if name in members}


def are_own_blocks(blocks: Sequence[JsonValue]) -> bool:
    """Return whether all are typed blocks, of types that no other dialect claims."""
    return bool(blocks) and all(
        isinstance(each, dict)
        and isinstance(kind := each.get("type"), str)
        and kind not in _OF_OTHERS
        and (kind not in _SOURCED or isinstance(each.get("source"), dict))
        for each in blocks
    )


def _run_at(
    turns: Sequence[ComposedTurn], start: int, profile: Profile, options: RenderOptions
) -> NativeRun | None:
    natives = turns[start].natives
    read = _read_together(natives)
    stop = start + len(read)
    shown = turns[start:stop]
    if len(shown) < len(read) or not all(map(_is_same, shown, read)):
        return None
    are_named = profile.ids_are_optional or all(
        turn.call_id for turn in read if turn.role == "tool"
    )
    is_of_model = takes_thoughts(natives, options) or not any(map(holds_thoughts, read))
    if not (are_named and is_of_model):
        return None
    if not all(_is_taken(turn, profile, options) for turn in shown):
        return None
    messages = []
    for native in natives:
        request = profile.as_request(native, options) if profile.as_request else None
        if request is None:
            return None
        messages.append((native, request))
    return NativeRun(start, stop, tuple(messages))


def _read_together(natives: Sequence[NativeMessage]) -> Sequence[ComposedTurn]:
    """Return what was read of one message, or of items that make one turn together."""
    if len(natives) == 1:
        return natives[0].turns
    turns = [turn for native in natives for turn in native.turns]
    items = tuple(item for turn in turns for item in turn.items)
    calls = tuple(call for turn in turns for call in turn.calls)
    first = turns[0]
    return [Turn(first.role, items, first.origin, first.seq, calls)]


def _is_same(shown: ComposedTurn, read: ComposedTurn) -> bool:
    """Return whether a turn says what was read, about the same call."""
    return (
        shown.role == read.role
        and len(shown.items) == len(read.items)
        and all(map(_is_same_item, shown.items, read.items))
        and shown.calls == read.calls
        and read.call_id in ("", shown.call_id)
        and shown.is_error == read.is_error
    )


def _is_same_item(shown: Item, read: Item) -> bool:
    if shown is read:
        return True
    if isinstance(shown, Medium) and isinstance(read, Medium):
        is_as_read = shown.source == read.source and shown.pointer == read.pointer
        is_told = shown.is_evicted or shown.before is not None or shown.instead is not None
        return is_as_read and not is_told
    if isinstance(shown, Omission) and isinstance(read, Omission):
        return (shown.pointer, shown.code) == (read.pointer, read.code)
    if isinstance(shown, ProviderBlock) and isinstance(read, ProviderBlock):
        # In a turn of several messages, each names the message it came in.
        return (shown.pointer, shown.forms) == (read.pointer, read.forms)
    return type(shown) is type(read) and shown == read


def _is_taken(turn: ComposedTurn, profile: Profile, options: RenderOptions) -> bool:
    """Return whether a target takes a turn as it is, whatever becomes of its media."""
    if turn.is_error and not profile.has_error_flag:
        return False
    if not all(_is_call_taken(call, profile) for call in turn.calls):
        return False
    if turn.role == "tool" and profile.call_id.fit(turn.call_id) != turn.call_id:
        return False
    return all(is_item_taken(item, profile, options) for item in turn.items)


def _is_call_taken(call: TurnCall, profile: Profile) -> bool:
    is_id = profile.call_id.fit(call.call_id) == call.call_id
    return is_id and profile.tool_name.fit(call.name) == call.name


def is_item_taken(item: Item, profile: Profile, options: RenderOptions) -> bool:
    """Return whether a target takes an item as it is, whatever becomes of a medium."""
    if isinstance(item, TextItem):
        return profile.takes_blank_texts or bool(item.text.strip())
    if isinstance(item, ProviderBlock):
        return True
    if isinstance(item, Medium):
        is_stored = isinstance(item.source, StoredBytes)
        is_signed = is_stored and options.media == "signed-url"
        is_plain = item.claimed_type is None and not item.is_in_text
        return is_plain and not is_signed and options.detail is None
    return isinstance(item, DataItem | Omission) and _is_of_dialect(item)


def _is_of_dialect(item: DataItem | Omission) -> bool:
    """Return whether nothing but the dialect keeps something from being told."""
    if isinstance(item, DataItem):
        return True
    return item.code in ("reasoning", "no-place") and item.to == "nothing"


def references(message: JsonValue, depth: int = 0) -> Iterator[str]:
    """Yield the ids of the media that stand in a message as a string of their own."""
    if depth > _DEEPEST:
        return
    if isinstance(message, str):
        if found := _REFERENCE.fullmatch(message):
            yield found[1]
    elif isinstance(message, dict):
        for name, value in message.items():
            if name not in _WRITTEN and name != "text":
                yield from references(value, depth + 1)
    elif isinstance(message, list):
        for value in message:
            yield from references(value, depth + 1)


def write_node(value: JsonValue, media: MediaByResource, name: str = "", depth: int = 0) -> Node:
    """Return a message, or a part of one, with the bytes of media in their places."""
    if isinstance(value, str):
        found = _REFERENCE.fullmatch(value) if media else None
        attachment = media.get(found[1]) if found else None
        return value if attachment is None else _bytes(attachment, name)
    if not isinstance(value, dict | list):
        return cast(Node, value)
    is_deep = depth > _DEEPEST or (not media and depth > _SHALLOW)
    if is_deep or name in _WRITTEN:
        return JsonLeaf(value)
    if isinstance(value, list):
        return [write_node(each, media, name, depth + 1) for each in value]
    members: dict[str, Any] = value
    return {key: write_node(each, media, key, depth + 1) for key, each in members.items()}


def _bytes(attachment: MediaItem, name: str) -> Node:
    if attachment.address is not None:
        return attachment.address
    is_uri = name in _DATA_URIS
    return Base64Leaf(attachment, f"data:{attachment.mime_type};base64," if is_uri else "")
