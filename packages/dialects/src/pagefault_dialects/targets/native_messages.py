"""Native messages: messages of the target's own dialect are written as they were sent.

A message is read as turns, and composing a conversation may change them: answers move after their
calls, ids are adapted to the target, old content is evicted, images are made smaller. If no turn of
a message has changed, and the target's requests have such messages, the message itself is written,
with the bytes of stored media instead of their references. The target's `as_request` drops the
members that only responses have.
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
# The arguments that a model wrote stay unchanged: a reference in them is no medium.
_ARGUMENTS = frozenset({"arguments", "input", "args"})
_DATA_URIS = frozenset({"url", "image_url", "file_data"})
# Media are never deeper in a message; deeper values are written unchanged.
_MAX_MEDIA_DEPTH = 12
# In a message without media, values below this depth are encoded at once.
_MAX_TREE_DEPTH = 3
# Types of blocks of other dialects. Anthropic's own types have no common prefix.
_TYPES_OF_OTHERS = frozenset(
    {
        *("image_url", "input_audio", "file", "refusal", "input_text", "output_text"),
        *("input_image", "input_file", "tool-call", "tool-result", "resource", "resource_link"),
        *("audio", "video", "function_call", "tool_call", "reasoning"),
    }
)
_FUNCTION_ITEMS = ("function_call", "function_call_output")
_TYPES_WITH_SOURCE = frozenset({"image", "document"})

MediaByResource: TypeAlias = Mapping[str, MediaItem]


@dataclass(frozen=True, slots=True)
class NativeRun:
    """Consecutive turns that are written as the messages that they were read from."""

    start: int
    """The index of the first turn."""
    stop: int
    """The index after the last turn."""
    messages: tuple[tuple[NativeMessage, JsonObject], ...]
    """Each message, and its form in the target's requests."""

    def write(self, media: MediaByResource) -> tuple[Node, ...]:
        """Return the messages with the bytes of media instead of references to them."""
        return tuple(write_node(request, media) for _, request in self.messages)


def find_native_runs(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> Iterator[NativeRun]:
    """Yield the runs of turns that can be written as they were sent, not considering media."""
    if profile.as_request is None:
        return
    start = 0
    while start < len(turns):
        run = _run_at(turns, start, profile, options) if turns[start].natives else None
        if run is not None:
            yield run
        start = start + 1 if run is None else run.stop


def find_home_runs(
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
    refs: Sequence[MediumRef],
    obstacles: Sequence[Obstacle | None],
) -> list[NativeRun]:
    """Return the runs of turns that are written as they were sent if all their media fit.

    Args:
        turns: The conversation.
        profile: The target.
        options: The options of the rendering.
        refs: All media.
        obstacles: Why each medium cannot be sent unchanged.
    """
    ranges = media_ranges(turns)
    runs = [
        run
        for run in find_native_runs(turns, profile, options)
        if all(
            _may_stay(profile, refs[index], obstacles[index]) for index in media_range(run, ranges)
        )
    ]
    return _drop_without_partners(runs, turns)


def media_ranges(turns: Sequence[ComposedTurn]) -> list[range]:
    """Return the indexes of the media of each turn, among all media."""
    ranges: list[range] = []
    start = 0
    for turn in turns:
        stop = start + sum(isinstance(item, Medium) for item in turn.items)
        ranges.append(range(start, stop))
        start = stop
    return ranges


def media_range(run: NativeRun, ranges: Sequence[range]) -> range:
    """Return the indexes of the media of a run; `ranges` are those of `media_ranges`."""
    return range(ranges[run.start].start, ranges[run.stop - 1].stop)


def _may_stay(profile: Profile, ref: MediumRef, obstacle: Obstacle | None) -> bool:
    """Return whether a medium may stay in a message of the target's own dialect.

    Some obstacles do not apply there. A picture that a model made, or a file at an address that
    only its provider loads, can be sent in no other form.
    """
    if obstacle is None:
        return True
    medium, rule = ref.medium, profile.rule(ref.medium.kind)
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


def _drop_without_partners(runs: list[NativeRun], turns: Sequence[ComposedTurn]) -> list[NativeRun]:
    """Return runs without those that have one half of a provider-defined call.

    A call and its answer have to be written alike. Outside of runs, both are written as those of a
    function, so a run with a provider-defined call or answer needs the other half in a run too.
    """
    provider_calls = {run.start: _provider_calls(run) for run in runs}
    while any(provider_calls[run.start] for run in runs):
        in_runs = {index for run in runs for index in range(run.start, run.stop)}
        outside = {
            call_id
            for index, turn in enumerate(turns)
            if index not in in_runs
            for call_id in (turn.call_id, *(call.call_id for call in turn.calls))
        }
        kept = [run for run in runs if provider_calls[run.start].isdisjoint(outside)]
        if len(kept) == len(runs):
            break
        # A dropped run may have the other half of a call in another run.
        runs = kept
    return runs


def _provider_calls(run: NativeRun) -> set[str]:
    """Return the ids of the calls and answers of a run that are not those of functions."""
    return {
        request["call_id"]
        for _, request in run.messages
        if isinstance(request.get("call_id"), str) and request.get("type") not in _FUNCTION_ITEMS
    }


def refers_to_all(run: NativeRun, media: MediaByResource) -> bool:
    """Return whether the messages of a run refer to all of these media."""
    if not media:
        return True
    found = {
        reference for native, _ in run.messages for reference in find_references(native.message)
    }
    return media.keys() <= found


def write_runs(
    turns: Sequence[ResolvedTurn],
    write: Callable[[Sequence[ResolvedTurn]], list[Node]],
    *,
    content: str = "",
) -> list[Node]:
    """Return the messages of turns: some as they were sent, and those that `write` makes.

    Args:
        turns: Resolved turns.
        write: Writes the messages of turns that are not written as they were sent.
        content: The member with the blocks of a message. If it is not empty, the answers of
            consecutive messages are joined into one message.
    """
    messages: list[Node] = []
    was_answer = False
    for is_native, group in groupby(turns, key=lambda turn: turn.written is not None):
        run = [*group]
        for part in ([turn] for turn in run) if is_native else [run]:
            sent = [*(part[0].written or ())] if is_native else write(part)
            if content and was_answer and part[0].role == "tool" and sent:
                messages[-1] = _append_blocks(messages[-1], sent.pop(0), content)
            messages += sent
            was_answer = part[-1].role == "tool"
    return messages


def _append_blocks(message: Node, following: Node, content: str) -> Node:
    """Return a message with the blocks of the message after it appended."""
    both = [item for item in (message, following) if isinstance(item, dict)]
    contents = [item[content] for item in both]
    blocks = [block for item in contents if isinstance(item, list) for block in item]
    return {**both[0], content: blocks}


def select_request_members(
    message: JsonObject, request_members: frozenset[str], response_members: frozenset[str]
) -> JsonObject | None:
    """Return a message with the members of requests only; `None` if unknown ones have content.

    Args:
        message: The message as it was sent.
        request_members: The members of requests.
        response_members: The members that only responses have, which are dropped.
    """
    unknown = message.keys() - request_members - response_members
    if any(says_something(message[name]) for name in unknown):
        return None
    return {name: value for name, value in message.items() if name in request_members}


def has_only_own_blocks(blocks: Sequence[JsonValue]) -> bool:
    """Return whether all blocks are typed, with types that no other dialect uses."""
    return bool(blocks) and all(
        isinstance(block, dict)
        and isinstance(kind := block.get("type"), str)
        and kind not in _TYPES_OF_OTHERS
        and (kind not in _TYPES_WITH_SOURCE or isinstance(block.get("source"), dict))
        for block in blocks
    )


def _run_at(
    turns: Sequence[ComposedTurn], start: int, profile: Profile, options: RenderOptions
) -> NativeRun | None:
    """Return the run of the messages that a turn was read from; `None` if it has changed."""
    natives = turns[start].natives
    original = _original_turns(natives)
    stop = start + len(original)
    current = turns[start:stop]
    if len(current) < len(original) or not all(map(_is_unchanged, current, original)):
        return None
    have_ids = profile.ids_are_optional or all(
        turn.call_id for turn in original if turn.role == "tool"
    )
    may_have_thoughts = takes_thoughts(natives, options) or not any(map(holds_thoughts, original))
    if not (have_ids and may_have_thoughts):
        return None
    if not all(_is_accepted(turn, profile, options) for turn in current):
        return None
    messages = []
    for native in natives:
        request = profile.as_request(native, options) if profile.as_request else None
        if request is None:
            return None
        messages.append((native, request))
    return NativeRun(start, stop, tuple(messages))


def _original_turns(natives: Sequence[NativeMessage]) -> Sequence[ComposedTurn]:
    """Return the turns that were read from one message, or the one turn of several items."""
    if len(natives) == 1:
        return natives[0].turns
    turns = [turn for native in natives for turn in native.turns]
    items = tuple(item for turn in turns for item in turn.items)
    calls = tuple(call for turn in turns for call in turn.calls)
    first = turns[0]
    return [Turn(first.role, items, first.origin, first.seq, calls)]


def _is_unchanged(current: ComposedTurn, original: ComposedTurn) -> bool:
    """Return whether a turn equals the turn that was read, and answers the same call."""
    return (
        current.role == original.role
        and len(current.items) == len(original.items)
        and all(map(_is_unchanged_item, current.items, original.items))
        and current.calls == original.calls
        and original.call_id in ("", current.call_id)
        and current.is_error == original.is_error
    )


def _is_unchanged_item(current: Item, original: Item) -> bool:
    if current is original:
        return True
    if isinstance(current, Medium) and isinstance(original, Medium):
        is_same = current.source == original.source and current.pointer == original.pointer
        is_changed = current.is_evicted or current.before is not None or current.instead is not None
        return is_same and not is_changed
    if isinstance(current, Omission) and isinstance(original, Omission):
        return (current.pointer, current.code) == (original.pointer, original.code)
    if isinstance(current, ProviderBlock) and isinstance(original, ProviderBlock):
        # In a turn of several messages, each block has the pointer within its own message.
        return (current.pointer, current.forms) == (original.pointer, original.forms)
    return type(current) is type(original) and current == original


def _is_accepted(turn: ComposedTurn, profile: Profile, options: RenderOptions) -> bool:
    """Return whether a target accepts a turn unchanged, not considering its media."""
    if turn.is_error and not profile.has_error_flag:
        return False
    if not all(_is_call_accepted(call, profile) for call in turn.calls):
        return False
    if turn.role == "tool" and profile.call_id.fit(turn.call_id) != turn.call_id:
        return False
    return all(is_item_accepted(item, profile, options) for item in turn.items)


def _is_call_accepted(call: TurnCall, profile: Profile) -> bool:
    is_id = profile.call_id.fit(call.call_id) == call.call_id
    return is_id and profile.tool_name.fit(call.name) == call.name


def is_item_accepted(item: Item, profile: Profile, options: RenderOptions) -> bool:
    """Return whether a target accepts an item unchanged.

    The limits of media are not considered, only options because of which media are written anew.
    """
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


def find_references(message: JsonValue, depth: int = 0) -> Iterator[str]:
    """Yield the ids of media whose reference is a whole string in a message."""
    if depth > _MAX_MEDIA_DEPTH:
        return
    if isinstance(message, str):
        if match := _REFERENCE.fullmatch(message):
            yield match[1]
    elif isinstance(message, dict):
        for name, value in message.items():
            if name not in _ARGUMENTS and name != "text":
                yield from find_references(value, depth + 1)
    elif isinstance(message, list):
        for value in message:
            yield from find_references(value, depth + 1)


def write_node(value: JsonValue, media: MediaByResource, name: str = "", depth: int = 0) -> Node:
    """Return a message, or a part of one, with the bytes of media instead of their references.

    Args:
        value: The message or part.
        media: The media, by the ids of their resources.
        name: The name of the member with the value.
        depth: The depth of the value in the message.
    """
    if isinstance(value, str):
        match = _REFERENCE.fullmatch(value) if media else None
        attachment = media.get(match[1]) if match else None
        return value if attachment is None else _write_bytes(attachment, name)
    if not isinstance(value, dict | list):
        return cast(Node, value)
    is_deep = depth > _MAX_MEDIA_DEPTH or (not media and depth > _MAX_TREE_DEPTH)
    if is_deep or name in _ARGUMENTS:
        return JsonLeaf(value)
    if isinstance(value, list):
        return [write_node(item, media, name, depth + 1) for item in value]
    members: dict[str, Any] = value
    return {key: write_node(member, media, key, depth + 1) for key, member in members.items()}


def _write_bytes(attachment: MediaItem, name: str) -> Node:
    if attachment.address is not None:
        return attachment.address
    is_uri = name in _DATA_URIS
    return Base64Leaf(attachment, f"data:{attachment.mime_type};base64," if is_uri else "")
