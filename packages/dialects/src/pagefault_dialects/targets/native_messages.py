"""Native messages: messages of the target's own dialect, which are copied as they were sent.

A message is read as turns. A rendering may change turns: results move after their calls, ids are
adapted to the target, old content is evicted, images are made smaller. If no turn of a message has
changed, and the target accepts the message in requests, the message itself is copied, with the
bytes of stored media in place of references to them. `Profile.as_request` drops the members that
only responses have.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias, cast

from pagefault_dialects.json.values import JsonObject, JsonValue, has_content
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
from pagefault_dialects.targets.thoughts import has_thoughts, may_send_thoughts

_REFERENCE = re.compile("@blob:([0-9a-f]{32})")
# Members with arguments that a model wrote. References in them are not replaced by bytes.
_ARGUMENT_MEMBERS = frozenset({"arguments", "input", "args"})
# Members whose base64 is in a `data:` URI.
_DATA_URI_MEMBERS = frozenset({"url", "image_url", "file_data"})
# No dialect has media at a greater depth of a message; deeper values are written unchanged.
_MAX_MEDIA_DEPTH = 12
# In a message without media, values below this depth are encoded at once.
_MAX_TREE_DEPTH = 3
# The types of calls of functions and their results, in OpenAI's Responses.
_FUNCTION_ITEMS = ("function_call", "function_call_output")

MediaByResource: TypeAlias = Mapping[str, MediaItem]
"""Media by the ids of their resources."""


@dataclass(frozen=True, slots=True)
class NativeRange:
    """Consecutive turns of which a target copies the messages that they were read from."""

    start: int
    """The index of the first turn."""
    stop: int
    """The index after the last turn."""
    messages: tuple[tuple[NativeMessage, JsonObject], ...]
    """Each message as it was sent, and as requests to the target have it."""

    def copy_messages(self, media: MediaByResource) -> tuple[Node, ...]:
        """Return the messages with the bytes of media instead of references to them."""
        return tuple(write_node(request, media) for _, request in self.messages)


def _find_candidates(
    turns: Sequence[ComposedTurn], profile: Profile, options: RenderOptions
) -> Iterator[NativeRange]:
    """Yield the ranges of turns whose messages can be copied, if their media allow that."""
    if profile.as_request is None:
        return
    start = 0
    while start < len(turns):
        native_range = (
            _find_range_at(turns, start, profile, options) if turns[start].native_messages else None
        )
        if native_range is not None:
            yield native_range
        start = start + 1 if native_range is None else native_range.stop


def find_native_ranges(
    turns: Sequence[ComposedTurn],
    profile: Profile,
    options: RenderOptions,
    refs: Sequence[MediumRef],
    obstacles: Sequence[Obstacle | None],
) -> list[NativeRange]:
    """Return the ranges of turns whose messages are copied. Their media fit a request unchanged.

    Args:
        turns: The conversation.
        profile: The target.
        options: The options of the rendering.
        refs: All media.
        obstacles: Why each medium cannot be sent unchanged.
    """
    media_ranges = find_media_ranges(turns)
    native_ranges = [
        native_range
        for native_range in _find_candidates(turns, profile, options)
        if all(
            _may_be_sent_unchanged(profile, refs[index], obstacles[index])
            for index in find_media_range(native_range, media_ranges)
        )
    ]
    return _drop_incomplete_calls(native_ranges, turns)


def find_media_ranges(turns: Sequence[ComposedTurn]) -> list[range]:
    """Return the indexes of the media of each turn, among all media."""
    ranges: list[range] = []
    start = 0
    for turn in turns:
        stop = start + sum(isinstance(item, Medium) for item in turn.items)
        ranges.append(range(start, stop))
        start = stop
    return ranges


def find_media_range(native_range: NativeRange, media_ranges: Sequence[range]) -> range:
    """Return the indexes of the media of a range of turns.

    Args:
        native_range: The range of turns.
        media_ranges: The result of `find_media_ranges`.
    """
    return range(media_ranges[native_range.start].start, media_ranges[native_range.stop - 1].stop)


def _may_be_sent_unchanged(profile: Profile, ref: MediumRef, obstacle: Obstacle | None) -> bool:
    """Return whether a medium may be sent unchanged in a message of the target's own dialect.

    Some obstacles do not apply in such a message, since the provider accepts what it has sent
    itself: a picture that a model made, or a file at a URL that only the provider can load.
    """
    if obstacle is None:
        return True
    medium, rule = ref.medium, profile.find_media_rule(ref.medium.kind)
    match obstacle.code:
        case "no-media-here":
            return True
        case "address-not-taken":
            return rule is not None and not rule.addresses
        case "type-not-taken":
            if isinstance(medium.source, Address) and rule is not None:
                return rule.accepts_url(medium.source.url)
            return matches(medium.mime_type, profile.native_types)
    return False


def _drop_incomplete_calls(
    native_ranges: list[NativeRange], turns: Sequence[ComposedTurn]
) -> list[NativeRange]:
    """Return the ranges without those that lack the call or the result of a provider-defined call.

    Outside of the ranges, a call or a result is written as that of a function. A provider rejects
    its own call with the result of a function, and the reverse. So if one of the two is in a range,
    the other has to be in a range too.
    """
    provider_calls = {
        native_range.start: _find_provider_calls(native_range) for native_range in native_ranges
    }
    while any(provider_calls[native_range.start] for native_range in native_ranges):
        copied_turns = {
            index
            for native_range in native_ranges
            for index in range(native_range.start, native_range.stop)
        }
        outside = {
            call_id
            for index, turn in enumerate(turns)
            if index not in copied_turns
            for call_id in (turn.call_id, *(call.call_id for call in turn.calls))
        }
        remaining = [
            native_range
            for native_range in native_ranges
            if provider_calls[native_range.start].isdisjoint(outside)
        ]
        if len(remaining) == len(native_ranges):
            break
        # A dropped range may have the result of a call in a remaining one, so check again.
        native_ranges = remaining
    return native_ranges


def _find_provider_calls(native_range: NativeRange) -> set[str]:
    """Return the ids of a range's calls and results that are not those of functions."""
    return {
        request["call_id"]
        for _, request in native_range.messages
        if isinstance(request.get("call_id"), str) and request.get("type") not in _FUNCTION_ITEMS
    }


def refers_to_all(native_range: NativeRange, media: MediaByResource) -> bool:
    """Return whether the messages of a range refer to all of these media."""
    if not media:
        return True
    references = {
        reference
        for message, _ in native_range.messages
        for reference in find_references(message.message)
    }
    return media.keys() <= references


def write_or_copy_turns(
    turns: Sequence[ResolvedTurn],
    write: Callable[[Sequence[ResolvedTurn]], list[Node]],
    *,
    content: str = "",
) -> list[Node]:
    """Return the messages of turns: copies of the sent messages, or those that `write` makes.

    Args:
        turns: Resolved turns.
        write: Writes the messages of consecutive turns without `copied_messages`.
        content: The member with the blocks of a message. If it is not empty, consecutive messages
            with results are joined into one message.
    """
    messages: list[Node] = []
    ends_with_result = False
    for is_copied, group in groupby(turns, key=lambda turn: turn.copied_messages is not None):
        # Copied turns are added one by one, and other turns together.
        for part in ([turn] for turn in group) if is_copied else [[*group]]:
            new_messages = [*(part[0].copied_messages or ())] if is_copied else write(part)
            if content and ends_with_result and part[0].role == "tool" and new_messages:
                messages[-1] = _append_blocks(messages[-1], new_messages.pop(0), content)
            messages += new_messages
            ends_with_result = part[-1].role == "tool"
    return messages


def _append_blocks(message: Node, following: Node, content: str) -> Node:
    """Return a message with the blocks of the following message appended."""
    messages = [item for item in (message, following) if isinstance(item, dict)]
    contents = [item[content] for item in messages]
    blocks = [block for item in contents if isinstance(item, list) for block in item]
    return {**messages[0], content: blocks}


def select_request_members(
    message: JsonObject, request_members: frozenset[str], response_members: frozenset[str]
) -> JsonObject | None:
    """Return a message with the members of requests only.

    Unknown members without content, such as null and empty lists, are dropped too. If there is any
    other unknown member, the result is `None`.

    Args:
        message: The message as it was sent.
        request_members: The members of requests.
        response_members: The members that only responses have, which are dropped.
    """
    unknown = message.keys() - request_members - response_members
    if any(has_content(message[name]) for name in unknown):
        return None
    return {name: value for name, value in message.items() if name in request_members}


def _find_range_at(
    turns: Sequence[ComposedTurn], start: int, profile: Profile, options: RenderOptions
) -> NativeRange | None:
    """Return the range of the turns of one message, beginning at a turn.

    The result is `None` if a turn of its messages has changed, or if the target does not accept one
    of the messages.
    """
    native_messages = turns[start].native_messages
    original = _read_turns_of(native_messages)
    stop = start + len(original)
    current = turns[start:stop]
    if len(current) < len(original) or not all(map(_is_unchanged, current, original)):
        return None
    have_ids = profile.ids_are_optional or all(
        turn.call_id for turn in original if turn.role == "tool"
    )
    may_have_thoughts = may_send_thoughts(native_messages, options) or not any(
        map(has_thoughts, original)
    )
    if not (have_ids and may_have_thoughts):
        return None
    if not all(_is_accepted(turn, profile, options) for turn in current):
        return None
    messages = []
    for native in native_messages:
        request = profile.as_request(native, options) if profile.as_request else None
        if request is None:
            return None
        messages.append((native, request))
    return NativeRange(start, stop, tuple(messages))


def _read_turns_of(native_messages: Sequence[NativeMessage]) -> Sequence[ComposedTurn]:
    """Return the turns that were read from a message, or from several joined messages.

    Only items of OpenAI's Responses are joined into one turn.
    """
    if len(native_messages) == 1:
        return native_messages[0].turns
    turns = [turn for native in native_messages for turn in native.turns]
    items = tuple(item for turn in turns for item in turn.items)
    calls = tuple(call for turn in turns for call in turn.calls)
    first = turns[0]
    return [Turn(first.role, items, first.origin, first.seq, calls)]


def _is_unchanged(current: ComposedTurn, original: ComposedTurn) -> bool:
    """Return whether a turn equals the turn that was read from its message."""
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
    """Return whether a target accepts a turn unchanged, except for limits of its media."""
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
    """Return whether a target accepts an item unchanged, except for limits of media.

    A medium is not accepted if the options require that it is written in another way.
    """
    if isinstance(item, TextItem):
        return profile.allows_blank_texts or bool(item.text.strip())
    if isinstance(item, ProviderBlock):
        return True
    if isinstance(item, Medium):
        is_stored = isinstance(item.source, StoredBytes)
        is_signed = is_stored and options.media == "signed-url"
        is_plain = item.claimed_type is None and not item.is_in_text
        return is_plain and not is_signed and options.detail is None
    if isinstance(item, Omission):
        # Other dialects omit the value; the message as it was sent has it.
        return item.code in ("reasoning", "no-place") and item.to == "nothing"
    return isinstance(item, DataItem)


def find_references(message: JsonValue, depth: int = 0) -> Iterator[str]:
    """Yield the ids of media whose reference is a whole string in a message."""
    if depth > _MAX_MEDIA_DEPTH:
        return
    if isinstance(message, str):
        if match := _REFERENCE.fullmatch(message):
            yield match[1]
    elif isinstance(message, dict):
        for name, value in message.items():
            if name not in _ARGUMENT_MEMBERS and name != "text":
                yield from find_references(value, depth + 1)
    elif isinstance(message, list):
        for value in message:
            yield from find_references(value, depth + 1)


def write_node(value: JsonValue, media: MediaByResource, name: str = "", depth: int = 0) -> Node:
    """Return a message, or a value in it, with the bytes of media in place of references to them.

    Args:
        value: The message, or the value.
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
    if is_deep or name in _ARGUMENT_MEMBERS:
        return JsonLeaf(value)
    if isinstance(value, list):
        return [write_node(item, media, name, depth + 1) for item in value]
    members: dict[str, Any] = value
    return {key: write_node(member, media, key, depth + 1) for key, member in members.items()}


def _write_bytes(attachment: MediaItem, name: str) -> Node:
    if attachment.address is not None:
        return attachment.address
    head = f"data:{attachment.mime_type};base64," if name in _DATA_URI_MEMBERS else ""
    return Base64Leaf(attachment, head)
