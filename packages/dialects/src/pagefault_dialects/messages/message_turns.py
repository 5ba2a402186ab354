"""Makes turns of a conversation from one message in common form.

`message_calls` recognizes calls and results by their shape, and `message_content` reads other
blocks. Members that other dialects lack are omitted, each with a note for the loss account. So is
reasoning, unless blocks of one provider are kept: only the provider that wrote it accepts it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pagefault_dialects.dialects.vercel import read_approval_request, read_approval_response
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.message_calls import (
    ToolResultBlock,
    has_error_mark,
    is_reasoning,
    list_calls,
    note_unread_call_members,
    note_unread_listed_call_members,
    note_unread_result_members,
    read_call,
    read_listed_call,
    read_tool_result,
)
from pagefault_dialects.messages.message_content import (
    ContentReader,
    is_object,
    note_no_place,
    note_reasoning,
    note_unread_members,
)
from pagefault_dialects.messages.provider_blocks import (
    DIALECTS_WITH_SIGNATURES,
    SIGNATURE_MEMBERS,
    make_cache_mark,
    make_thought_block,
    make_thought_member,
)
from pagefault_dialects.model.conversation import (
    AlternativeText,
    ComposedTurn,
    DataItem,
    Item,
    Medium,
    Omission,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
    is_cache_mark,
)
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.turns.mirrored_structures import RenderedPart, is_mirrored
from pagefault_dialects.turns.page_turns import PAGE_FAULT_TOOL, PageFaultCall, join_page_image

_ROLES: dict[str, TurnRole] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
_CONTENT_NAMES = ("content", "parts", "images")
# The members of `audio` that are read.
_AUDIO_NAMES = ("data", "transcript")
# Members beside the content that are read, if their value is an object or a text.
_OBJECT_NAMES = frozenset({"audio", "function_call"})
_TEXT_NAMES = frozenset({"refusal", "tool_call_id", "name"})
# Blocks between a host and its user. The model does not get them.
_APPROVAL_TYPES = ("tool-approval-request", "tool-approval-response")
_CACHE_MARKS = frozenset({"cachePoint"})
_NO_RESULT = ToolResultBlock("", "", None)


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """A message in common form, and its entry in a history."""

    message: Mapping[str, Any]
    seq: int
    origin: str = ""
    """The path of the message."""
    is_page_fault: bool = False
    """True if the message is the result of a page fault."""
    page_fault: PageFaultCall | None = None
    """The page and the level of a page fault, if they were stored."""
    moved_media_ids: frozenset[str] = frozenset()
    """The ids of media that were moved out of its texts to the store."""
    keeps_blocks: bool = False
    """True if blocks of one provider are kept for it. `False` for messages that were stored before
    their dialect was stored with them."""


def is_cache_block(block: JsonValue) -> bool:
    """Return whether a block is Bedrock's mark for the cache, or an empty object."""
    if not is_object(block):
        return False
    present = {name for name, value in block.items() if value is not None}
    return present == _CACHE_MARKS or block.keys() <= _CACHE_MARKS


def make_message_turns(
    entry: MessageEntry,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    finds_media: bool = False,
    describes_blocks: bool = False,
) -> list[ComposedTurn]:
    """Return a message as turns.

    There is one turn for each tool result, and one for the other content. Results come first. In a
    message with calls and their results, the results follow their calls.

    Args:
        entry: The message.
        resources: The resources that the message refers to, by id.
        audience: The reader of the turns. Blocks for other audiences are omitted with a note.
        finds_media: Whether texts are searched for base64. Stored texts have none.
        describes_blocks: Whether blocks of one provider are described in words. With `finds_media`,
            they always are.
    """
    content_reader = ContentReader(
        *(resources, audience, entry.moved_media_ids, finds_media, describes_blocks),
        keeps_blocks=entry.keeps_blocks,
    )
    return _MessageReader(entry, content_reader).read_turns()


@dataclass(slots=True)
class _Segment:
    """Content of a message up to the next results: items, calls, and the results of the calls."""

    items: list[Item] = field(default_factory=list)
    calls: list[TurnCall] = field(default_factory=list)
    results: list[ComposedTurn] = field(default_factory=list)


class _MessageReader:
    """Reads one message, whose calls and results are collected in segments."""

    def __init__(self, entry: MessageEntry, content_reader: ContentReader) -> None:
        self._entry = entry
        self._content_reader = content_reader
        self._message = entry.message
        self._role = _ROLES[self._message["role"]]
        self._segments = [_Segment()]
        self._segment_of_call: dict[str, _Segment] = {}
        """The segments with the calls, by the ids of the calls."""
        self._approval_ids: dict[str, str] = {}
        """The ids of approval requests, by the ids of their calls."""
        self._call_count = 0

    def read_turns(self) -> list[ComposedTurn]:
        """Return the turns of the message. May be called once."""
        for name in _CONTENT_NAMES:
            self._read_content(self._message.get(name), f"/{name}")
        self._read_members()
        if self._role == "assistant":
            return [
                turn for segment in self._segments for turn in self._make_assistant_turns(segment)
            ]
        return self._make_other_turns(self._segments[0])

    def _read_content(self, content: JsonValue, pointer: str) -> None:
        """Read the value of a member with content: a list of blocks, or any other value."""
        if isinstance(content, list):
            for index, block in enumerate(content):
                self._read_block(block, f"{pointer}/{index}")
        else:
            self._read_block(content, pointer)

    def _read_block(self, block: JsonValue, pointer: str) -> None:
        """Read a block: a result, a call, a thought, an approval, a mark for the cache, or content.

        Blocks of one provider become a note if the entry does not keep them.
        """
        keeps_blocks = self._entry.keeps_blocks
        if is_object(block) and (result := read_tool_result(block)) is not None:
            self._add_result(result, [*note_unread_result_members(block, pointer)], pointer)
        elif self._role == "assistant" and (
            call := read_call(block, self._entry.seq, self._call_count)
        ):
            self._add_call(call)
            self._add_call_notes(call, note_unread_call_members(block, pointer))
        elif is_object(block) and is_reasoning(block):
            self._get_current_segment().items.append(
                make_thought_block(block, pointer) if keeps_blocks else note_reasoning(pointer)
            )
        elif is_object(block) and block.get("type") in _APPROVAL_TYPES:
            self._read_approval(block, pointer)
        elif is_cache_block(block):
            if block and keeps_blocks:
                self._get_current_segment().items.append(make_cache_mark(block, pointer))
        else:
            items = self._content_reader.read(block, pointer, is_of_dialect=True)
            self._get_current_segment().items.extend(items)

    def _read_approval(self, block: dict[str, JsonValue], pointer: str) -> None:
        """Read an approval request or response. A response becomes a result of its call.

        The result of a denial is a text for the model; that of a permission has only a note.
        """
        note = note_no_place(pointer, str(block["type"]))
        if not self._content_reader.describes_blocks:
            # Messages that were stored before their dialect was stored with them get only the note.
            self._get_current_segment().items.append(note)
            return
        if request := read_approval_request(block):
            call_id, approval_id = request
            self._approval_ids[call_id] = approval_id
        response = None if self._role == "assistant" else read_approval_response(block)
        if response is None:
            self._get_current_segment().items.append(note)
            return
        approval_id, denial = response
        item = note if denial is None else TextItem(pointer, denial)
        result = ToolResultBlock("", "", None, is_error=denial is not None)
        turn = self._make_turn("tool", [item], result=result)
        self._segments[-1].results.append(replace(turn, approval_id=approval_id))

    def _add_call(self, call: TurnCall) -> None:
        """Add a call to the current segment."""
        if not self._entry.keeps_blocks and call.thought_signature is not None:
            # In messages that were stored before their dialect was, signatures were not read.
            call = replace(call, thought_signature=None)
        segment = self._get_current_segment()
        segment.calls.append(call)
        self._segment_of_call.setdefault(call.call_id, segment)
        self._call_count += 1

    def _add_result(self, result: ToolResultBlock, notes: list[Omission], pointer: str) -> None:
        """Add the turn of a result to the segment of its call, or else to the last segment.

        Args:
            result: The result.
            notes: The notes of its members that are omitted.
            pointer: The pointer to the block of the result.
        """
        content = None if result.content == "" else result.content
        items = [*self._content_reader.read(content, pointer)]
        for part in result.parts:
            items += self._content_reader.read(part, pointer)
        structured = result.structured
        if structured is not None and not is_mirrored(structured[0], map(RenderedPart, items)):
            items.append(DataItem(pointer, structured[0]))
        segment = self._segment_of_call.get(result.call_id, self._segments[-1])
        segment.results.append(self._make_turn("tool", [*items, *notes], result=result))

    def _read_members(self) -> None:
        """Read the members beside the content: calls, audio, a refusal and others."""
        message = self._message
        if self._role == "assistant":
            self._read_listed_calls()
        audio = message.get("audio")
        if is_object(audio):
            self._get_current_segment().items.extend(self._read_audio(audio))
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._get_current_segment().items.append(TextItem("/refusal", refusal))
        for note in note_unread_members(message, self._find_read_names(), ""):
            self._get_current_segment().items.append(self._keep_thought(note))

    def _add_call_notes(self, call: TurnCall, notes: Iterator[Omission]) -> None:
        """Add the notes of unread members of a call.

        The note of a member with the signature of the call is no loss for the targets that write
        the signature.
        """
        has_signature = self._entry.keeps_blocks and call.thought_signature is not None
        self._get_current_segment().items.extend(
            replace(note, kept_by=DIALECTS_WITH_SIGNATURES)
            if has_signature and note.what in SIGNATURE_MEMBERS
            else note
            for note in notes
        )

    def _keep_thought(self, note: Omission) -> Item:
        """Return the block of a thought in a member of the message; its note, if it is not kept."""
        name = note.pointer.removeprefix("/")
        if note.code != "reasoning" or not self._entry.keeps_blocks:
            return note
        return make_thought_member(name, self._message.get(name), note.pointer) or note

    def _find_read_names(self) -> frozenset[str]:
        """Return the names of the members that are read. Members with other types are omitted."""
        message = self._message
        texts = _TEXT_NAMES if self._is_result() else _TEXT_NAMES - {"name"}
        is_assistant = self._role == "assistant"
        objects = _OBJECT_NAMES if is_assistant else _OBJECT_NAMES - {"function_call"}
        names = {*_CONTENT_NAMES, *(name for name in texts if isinstance(message.get(name), str))}
        names |= {name for name in objects if is_object(message.get(name))}
        listed_calls = message.get("tool_calls") if is_assistant else None
        if isinstance(listed_calls, list) and all(map(is_object, listed_calls)):
            names.add("tool_calls")
        return frozenset(names)

    def _read_listed_calls(self) -> None:
        """Read the calls beside the content. They replace the same calls in blocks of the content.

        LangChain writes each call in both.
        """
        calls_of_blocks = {
            call.call_id: (segment, index)
            for segment in self._segments
            for index, call in enumerate(segment.calls)
        }
        for pointer, block in list_calls(self._message):
            call = read_listed_call(block, self._entry.seq, self._call_count)
            segment, index = calls_of_blocks.pop(call.call_id, (None, 0))
            if segment is None:
                self._add_call(call)
            else:
                segment.calls[index] = call
            self._add_call_notes(call, note_unread_listed_call_members(block, pointer))

    def _read_audio(self, audio: dict[str, JsonValue]) -> Iterator[Item]:
        """Yield the items of the member `audio` of OpenAI: the audio, or only its transcript."""
        transcript = audio.get("transcript")
        words = AlternativeText("transcript", transcript) if isinstance(transcript, str) else None
        read_names = {name for name in _AUDIO_NAMES if isinstance(audio.get(name), str)}
        yield from note_unread_members(audio, frozenset({"expires_at", *read_names}), "/audio")
        data = audio.get("data")
        if not isinstance(data, str):
            yield TextItem("/audio", words.text) if words else note_no_place("/audio", "audio")
            return
        for item in self._content_reader.read({"type": "audio", "data": data}, "/audio"):
            yield replace(item, words=words) if isinstance(item, Medium) else item

    def _make_assistant_turns(self, segment: _Segment) -> Iterator[ComposedTurn]:
        """Yield the turn with the content and calls of a segment, and the turns of its results."""
        if segment.items or segment.calls or not segment.results:
            calls = [
                replace(call, approval_id=self._approval_ids.get(call.call_id, ""))
                for call in segment.calls
            ]
            yield self._make_turn("assistant", segment.items, calls)
        yield from segment.results

    def _make_other_turns(self, segment: _Segment) -> list[ComposedTurn]:
        """Return the turns of a message that is not the assistant's: results, then other content.

        Results come first because they have to follow their calls directly.
        """
        results, items = segment.results, segment.items
        if results and all(isinstance(item, Omission) or is_cache_mark(item) for item in items):
            # There is no other content, so the last result gets the notes.
            last = results[-1]
            return [*results[:-1], replace(last, items=(*last.items, *items))]
        if self._role != "tool":
            return [*results, self._make_turn(self._role, items)]
        message = self._message
        if not self._is_result():
            return [*results, self._make_turn("user", items)]
        call_id, name = message.get("tool_call_id") or "", message.get("name")
        if not isinstance(name, str):
            name = PAGE_FAULT_TOOL if self._entry.is_page_fault else ""
        fault = self._entry.page_fault
        if self._entry.is_page_fault:
            items = [*join_page_image(items, fault)]
        result = ToolResultBlock(call_id, name, None, is_error=has_error_mark(message))
        turn = self._make_turn("tool", items, result=result)
        if fault is not None:
            turn = replace(turn, recorded_call=fault.make_turn_call(call_id or "call"))
        return [*results, turn]

    def _is_result(self) -> bool:
        """Return whether the message itself is a tool result, and does not only contain results."""
        has_results = any(segment.results for segment in self._segments)
        return self._role == "tool" and bool(self._message.get("tool_call_id") or not has_results)

    def _get_current_segment(self) -> _Segment:
        """Return the segment for the next content; after results, a new one is begun."""
        if self._role == "assistant" and self._segments[-1].results:
            self._segments.append(_Segment())
        return self._segments[-1]

    def _make_turn(
        self,
        role: TurnRole,
        items: Sequence[Item],
        calls: Sequence[TurnCall] = (),
        result: ToolResultBlock = _NO_RESULT,
    ) -> ComposedTurn:
        return Turn(
            role=role,
            items=tuple(items),
            origin=self._entry.origin,
            seq=self._entry.seq,
            calls=tuple(calls),
            call_id=result.call_id,
            tool_name=result.name,
            is_error=result.is_error,
        )
