"""Native messages: messages of the target's own dialect are written as they were sent.

A message is read as turns, and composing a conversation may change these: answers move after their
calls, ids are fitted, old content is evicted, media are made smaller. If all turns of a message are
unchanged, and the target's requests have such messages, the message itself is written, with the
bytes of stored media in place of their references. The target's `as_request` drops the members that
only responses have.
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
# The arguments that a model wrote stay unchanged.
_WRITTEN = frozenset({"arguments", "input", "args"})
_DATA_URIS = frozenset({"url", "image_url", "file_data"})
# Media are never deeper in a message; deeper values are written unchanged.
_DEEPEST = 12
_SHALLOW = 3
# The types of other dialects' blocks, since Anthropic's have no common prefix.
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
    """Turns, from `start` on, that these messages consist of."""

    start: int
    stop: int
    messages: tuple[tuple[NativeMessage, JsonObject], ...]
    """Each message, and its form in the target's requests."""

    def write(self, media: MediaByResource) -> tuple[Node, ...]:
        """Return the messages with these media in their places."""
        return tuple(write_node(request, media) for _, request in self.messages)


def native_runs(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> Iterator[NativeRun]:
    """Yield the runs of turns whose texts allow writing them as they were sent."""
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
    """Return the runs of turns that are written as they were sent, if all their media fit.

    Args:
        turns: The conversation.
        profile: The target.
        options: The options of the rendering.
        places: All media.
        obstacles: Why each cannot be sent as it is.
    """
    media = places_by_turn(turns)
    runs = [
        run
        for run in native_runs(turns, profile, options)
        if all(_is_at_home(profile, places[at], obstacles[at]) for at in media_of(run, media))
    ]
    return _with_partners(runs, turns)


def places_by_turn(turns: Sequence[ComposedTurn]) -> list[range]:
    """Return the numbers of the media of each turn."""
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
    """Return whether a medium may stay in a message of the target's own dialect.

    A picture that a model made, or a file at an address that only its provider loads, exists in no
    other dialect.
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
    """Return runs without provider-defined calls whose answers are rewritten, and vice versa.

    A rewritten call or answer is always that of a function.
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
    found = {reference for native, _ in run.messages for reference in references(native.message)}
    return media.keys() <= found


def write_runs(
    turns: Sequence[ResolvedTurn],
    write: Callable[[Sequence[ResolvedTurn]], list[Node]],
    *,
    content: str = "",
) -> list[Node]:
    """Return the messages of turns: the sent ones, and those that `write` makes of other turns.

    Args:
        turns: Resolved turns.
        write: Writes turns by their items.
        content: The member with a message's blocks, if all answers of a turn have to be in one
            message.
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
    """Return a message with the blocks of the next one appended."""
    both = [item for item in (message, following) if isinstance(item, dict)]
    contents = [item[content] for item in both]
    blocks = [block for item in contents if isinstance(item, list) for block in item]
    return {**both[0], content: blocks}


def members_of_request(
    sent: JsonObject, members: frozenset[str], of_responses: frozenset[str]
) -> JsonObject | None:
    """Return the request members of a message; `None` if other members have content.

    Args:
        sent: The message.
        members: The members of requests.
        of_responses: The members that only responses have.
    """
    unknown = sent.keys() - members - of_responses
    if any(says_something(sent[name]) for name in unknown):
        return None
    return {name: value for name, value in sent.items() if name in members}


def are_own_blocks(blocks: Sequence[JsonValue]) -> bool:
    """Return whether all blocks are typed, with types that no other dialect uses."""
    return bool(blocks) and all(
        isinstance(block, dict)
        and isinstance(kind := block.get("type"), str)
        and kind not in _OF_OTHERS
        and (kind not in _SOURCED or isinstance(block.get("source"), dict))
        for block in blocks
    )


def _run_at(
    turns: Sequence[ComposedTurn], start: int, profile: Profile, options: RenderOptions
) -> NativeRun | None:
    natives = turns[start].natives
    read = _read_together(natives)
    stop = start + len(read)
    current = turns[start:stop]
    if len(current) < len(read) or not all(map(_is_same, current, read)):
        return None
    are_named = profile.ids_are_optional or all(
        turn.call_id for turn in read if turn.role == "tool"
    )
    is_of_model = takes_thoughts(natives, options) or not any(map(holds_thoughts, read))
    if not (are_named and is_of_model):
        return None
    if not all(_is_taken(turn, profile, options) for turn in current):
        return None
    messages = []
    for native in natives:
        request = profile.as_request(native, options) if profile.as_request else None
        if request is None:
            return None
        messages.append((native, request))
    return NativeRun(start, stop, tuple(messages))


def _read_together(natives: Sequence[NativeMessage]) -> Sequence[ComposedTurn]:
    """Return the turns read from one message, or from items that form one turn together."""
    if len(natives) == 1:
        return natives[0].turns
    turns = [turn for native in natives for turn in native.turns]
    items = tuple(item for turn in turns for item in turn.items)
    calls = tuple(call for turn in turns for call in turn.calls)
    first = turns[0]
    return [Turn(first.role, items, first.origin, first.seq, calls)]


def _is_same(current: ComposedTurn, read: ComposedTurn) -> bool:
    """Return whether a turn equals the turn that was read, and answers the same call."""
    return (
        current.role == read.role
        and len(current.items) == len(read.items)
        and all(map(_is_same_item, current.items, read.items))
        and current.calls == read.calls
        and read.call_id in ("", current.call_id)
        and current.is_error == read.is_error
    )


def _is_same_item(current: Item, read: Item) -> bool:
    if current is read:
        return True
    if isinstance(current, Medium) and isinstance(read, Medium):
        is_as_read = current.source == read.source and current.pointer == read.pointer
        is_changed = current.is_evicted or current.before is not None or current.instead is not None
        return is_as_read and not is_changed
    if isinstance(current, Omission) and isinstance(read, Omission):
        return (current.pointer, current.code) == (read.pointer, read.code)
    if isinstance(current, ProviderBlock) and isinstance(read, ProviderBlock):
        # In a turn of several messages, each block has the pointer within its own message.
        return (current.pointer, current.forms) == (read.pointer, read.forms)
    return type(current) is type(read) and current == read


def _is_taken(turn: ComposedTurn, profile: Profile, options: RenderOptions) -> bool:
    """Return whether a target accepts a turn as it is, apart from its media."""
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
    """Return whether a target accepts an item as it is; a medium always counts as accepted."""
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
    """Return whether an item is omitted only because of its dialect."""
    if isinstance(item, DataItem):
        return True
    return item.code in ("reasoning", "no-place") and item.to == "nothing"


def references(message: JsonValue, depth: int = 0) -> Iterator[str]:
    """Yield the ids of media whose reference is a whole string in a message."""
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
        return [write_node(item, media, name, depth + 1) for item in value]
    members: dict[str, Any] = value
    return {key: write_node(member, media, key, depth + 1) for key, member in members.items()}


def _bytes(attachment: MediaItem, name: str) -> Node:
    if attachment.address is not None:
        return attachment.address
    is_uri = name in _DATA_URIS
    return Base64Leaf(attachment, f"data:{attachment.mime_type};base64," if is_uri else "")
