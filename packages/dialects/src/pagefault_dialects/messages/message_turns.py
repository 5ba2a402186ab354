"""Messages of any model dialect as turns: texts, media, calls and answers in any of their places.

Clients store messages in the dialect of their model. Calls and answers are recognized by their
shape. Other blocks are read like blocks of tool results, so both support the same dialects.
Reasoning, which only its own provider accepts, and members without a place in other dialects are
left out, each with an entry of loss.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pagefault_dialects.dialects.vercel import read_approval_request, read_approval_response
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.message_calls import (
    AnswerBlock,
    as_answer,
    as_call,
    as_listed_call,
    is_reasoning,
    list_calls,
    read_answer_loss,
    read_call_loss,
    read_listed_call_loss,
    says_error,
)
from pagefault_dialects.messages.message_content import (
    ContentReading,
    is_block,
    read_loss_beside,
    reasoning,
    without_a_place,
)
from pagefault_dialects.messages.provider_blocks import (
    SIGNATURES,
    SIGNED,
    cache_mark,
    thought_block,
    thought_member,
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
_CONTENTS = ("content", "parts", "images")
_VOICE = ("data", "transcript")
_BLOCKS = frozenset({"audio", "function_call"})
_TEXTS = frozenset({"refusal", "tool_call_id", "name"})
# Requests and responses between a host and its user, which are no part of the conversation.
_APART = ("tool-approval-request", "tool-approval-response")
_MARKS = frozenset({"cachePoint"})
_NO_ANSWER = AnswerBlock("", "", None)


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """A message, with its place in a history.

    `origin` is the path of the message. `page_fault` is the page and level of a page fault, if they
    were stored. `moved_out` has the ids of media that were moved out of its texts to the store.
    With `keeps_blocks`, blocks of one provider are kept for it; messages that were stored before
    dialects were known are read without.
    """

    message: Mapping[str, Any]
    seq: int
    origin: str = ""
    is_page_fault: bool = False
    page_fault: PageFaultCall | None = None
    moved_out: frozenset[str] = frozenset()
    keeps_blocks: bool = False


def is_cache_block(block: JsonValue) -> bool:
    """Return whether a block is Bedrock's mark for the cache, which is no content."""
    if not is_block(block):
        return False
    present = {name for name, value in block.items() if value is not None}
    return present == _MARKS or block.keys() <= _MARKS


def message_turns(
    entry: MessageEntry,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    finds_media: bool = False,
    uses_words: bool = False,
) -> list[ComposedTurn]:
    """Return a message as turns: one for each answer first, then one for other content.

    Args:
        entry: The message.
        resources: The resources that it refers to, by id.
        audience: The reader of the turns.
        finds_media: Whether texts are searched for base64, which is moved out of stored ones.
        uses_words: Whether blocks of one provider are described in words, as with `finds_media`.
    """
    content = ContentReading(
        *(resources, audience, entry.moved_out, finds_media, uses_words),
        keeps_blocks=entry.keeps_blocks,
    )
    return _Reading(entry, content).turns()


@dataclass(slots=True)
class _Segment:
    """Content up to the next answers: items, calls, and the answers to these."""

    items: list[Item] = field(default_factory=list)
    calls: list[TurnCall] = field(default_factory=list)
    answers: list[ComposedTurn] = field(default_factory=list)


class _Reading:
    """The reading of one message."""

    def __init__(self, entry: MessageEntry, content: ContentReading) -> None:
        self._entry = entry
        self._content = content
        self._message = entry.message
        self._role = _ROLES[self._message["role"]]
        self._segments = [_Segment()]
        self._calling: dict[str, _Segment] = {}
        self._approvals: dict[str, str] = {}
        self._called = 0

    def turns(self) -> list[ComposedTurn]:
        for name in _CONTENTS:
            self._read(self._message.get(name), f"/{name}")
        self._read_members()
        if self._role == "assistant":
            return [turn for segment in self._segments for turn in self._assistant_turns(segment)]
        return self._other_turns(self._segments[0])

    def _read(self, content: JsonValue, pointer: str) -> None:
        blocks = content if isinstance(content, list) else [content]
        for index, block in enumerate(blocks):
            here = f"{pointer}/{index}" if isinstance(content, list) else pointer
            if is_block(block) and (answer := as_answer(block)) is not None:
                self._answer(answer, [*read_answer_loss(block, here)], here)
            elif self._role == "assistant" and (
                call := as_call(block, self._entry.seq, self._called)
            ):
                self._call(call)
                self._segment().items.extend(self._signed(call, read_call_loss(block, here)))
            elif is_block(block) and is_reasoning(block):
                kept = thought_block(block, here) if self._entry.keeps_blocks else reasoning(here)
                self._segment().items.append(kept)
            elif is_block(block) and block.get("type") in _APART:
                self._read_approval(block, here)
            elif is_cache_block(block):
                if block and self._entry.keeps_blocks:
                    self._segment().items.append(cache_mark(block, here))
            else:
                items = self._content.items(block, here, is_of_dialect=True)
                self._segment().items.extend(items)

    def _read_approval(self, block: dict[str, JsonValue], pointer: str) -> None:
        """Read an approval request or response. A denial answers its call."""
        omitted = without_a_place(pointer, str(block["type"]))
        if not self._content.uses_words:
            # Messages that were stored without a reading keep their first reading.
            self._segment().items.append(omitted)
            return
        if request := read_approval_request(block):
            self._approvals.update([request])
        response = None if self._role == "assistant" else read_approval_response(block)
        if response is None:
            self._segment().items.append(omitted)
            return
        approval_id, denial = response
        item = omitted if denial is None else TextItem(pointer, denial)
        answer = AnswerBlock("", "", None, is_error=denial is not None)
        turn = self._turn("tool", [item], answer=answer)
        self._segments[-1].answers.append(replace(turn, approval_id=approval_id))

    def _call(self, call: TurnCall) -> None:
        if not self._entry.keeps_blocks and call.thought_signature is not None:
            # Messages that were stored without a reading keep their first reading.
            call = replace(call, thought_signature=None)
        segment = self._segment()
        segment.calls.append(call)
        self._calling.setdefault(call.call_id, segment)
        self._called += 1

    def _answer(self, answer: AnswerBlock, omitted: list[Omission], pointer: str) -> None:
        content = None if answer.content == "" else answer.content
        items = [*self._content.items(content, pointer)]
        for part in answer.parts:
            items += self._content.items(part, pointer)
        structured = answer.structured
        if structured is not None and not is_mirrored(structured[0], map(RenderedPart, items)):
            items.append(DataItem(pointer, structured[0]))
        segment = self._calling.get(answer.call_id, self._segments[-1])
        segment.answers.append(self._turn("tool", [*items, *omitted], answer=answer))

    def _read_members(self) -> None:
        """Read the members beside the content: calls, audio, a refusal and others."""
        message = self._message
        if self._role == "assistant":
            self._list_calls()
        audio = message.get("audio")
        if is_block(audio):
            self._segment().items.extend(self._voice(audio))
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._segment().items.append(TextItem("/refusal", refusal))
        for item in read_loss_beside(message, self._known(), ""):
            self._segment().items.append(self._keep_thought(item))

    def _signed(self, call: TurnCall, omitted: Iterator[Omission]) -> Iterator[Omission]:
        """Yield the loss of a call. Targets that check signatures keep the one of the call."""
        is_kept = self._entry.keeps_blocks and call.thought_signature is not None
        for item in omitted:
            is_signature = is_kept and item.what in SIGNATURES
            yield replace(item, kept_by=SIGNED) if is_signature else item

    def _keep_thought(self, item: Omission) -> Item:
        """Return the block of a thought beside the content, which its provider keeps."""
        name = item.pointer.removeprefix("/")
        if item.code != "reasoning" or not self._entry.keeps_blocks:
            return item
        return thought_member(name, self._message.get(name), item.pointer) or item

    def _known(self) -> frozenset[str]:
        """Return the members that are read, if they have the types for it."""
        message = self._message
        texts = _TEXTS if self._is_answer() else _TEXTS - {"name"}
        blocks = _BLOCKS if self._role == "assistant" else _BLOCKS - {"function_call"}
        known = {*_CONTENTS, *(name for name in texts if isinstance(message.get(name), str))}
        known |= {name for name in blocks if is_block(message.get(name))}
        listed = message.get("tool_calls") if self._role == "assistant" else None
        if isinstance(listed, list) and all(map(is_block, listed)):
            known.add("tool_calls")
        return frozenset(known)

    def _list_calls(self) -> None:
        """Read the calls beside the content. LangChain repeats those that are blocks."""
        known = {
            call.call_id: (segment, index)
            for segment in self._segments
            for index, call in enumerate(segment.calls)
        }
        for pointer, block in list_calls(self._message):
            call = as_listed_call(block, self._entry.seq, self._called)
            segment, index = known.pop(call.call_id, (None, 0))
            if segment is None:
                self._call(call)
            else:
                segment.calls[index] = call
            self._segment().items.extend(self._signed(call, read_listed_call_loss(block, pointer)))

    def _voice(self, audio: dict[str, JsonValue]) -> Iterator[Item]:
        transcript = audio.get("transcript")
        words = AlternativeText("transcript", transcript) if isinstance(transcript, str) else None
        read = {name for name in _VOICE if isinstance(audio.get(name), str)}
        yield from read_loss_beside(audio, frozenset({"expires_at", *read}), "/audio")
        data = audio.get("data")
        if not isinstance(data, str):
            yield TextItem("/audio", words.text) if words else without_a_place("/audio", "audio")
            return
        for item in self._content.items({"type": "audio", "data": data}, "/audio"):
            yield replace(item, words=words) if isinstance(item, Medium) else item

    def _assistant_turns(self, segment: _Segment) -> Iterator[ComposedTurn]:
        if segment.items or segment.calls or not segment.answers:
            calls = [
                replace(call, approval_id=self._approvals.get(call.call_id, ""))
                for call in segment.calls
            ]
            yield self._turn("assistant", segment.items, calls)
        yield from segment.answers

    def _other_turns(self, segment: _Segment) -> list[ComposedTurn]:
        """Return the answers, which belong behind their calls, and then the other content."""
        answers, items = segment.answers, segment.items
        if answers and all(isinstance(item, Omission) or is_cache_mark(item) for item in items):
            # Without content, no turn follows the answers.
            last = answers[-1]
            return [*answers[:-1], replace(last, items=(*last.items, *items))]
        if self._role != "tool":
            return [*answers, self._turn(self._role, items)]
        message = self._message
        if not self._is_answer():
            return [*answers, self._turn("user", items)]
        call_id, name = message.get("tool_call_id") or "", message.get("name")
        if not isinstance(name, str):
            name = PAGE_FAULT_TOOL if self._entry.is_page_fault else ""
        fault = self._entry.page_fault
        if self._entry.is_page_fault:
            items = [*join_page_image(items, fault)]
        failed = says_error(message)
        answer = AnswerBlock(call_id, name, None, is_error=failed)
        turn = self._turn("tool", items, answer=answer)
        if fault is not None:
            turn = replace(turn, recorded_call=fault.make_turn_call(call_id or "call"))
        return [*answers, turn]

    def _is_answer(self) -> bool:
        """Return whether the message itself is an answer, and does not only contain some."""
        holds_answers = any(segment.answers for segment in self._segments)
        return self._role == "tool" and bool(self._message.get("tool_call_id") or not holds_answers)

    def _segment(self) -> _Segment:
        """Return the segment of the next content, which is a new one behind answers."""
        if self._role == "assistant" and self._segments[-1].answers:
            self._segments.append(_Segment())
        return self._segments[-1]

    def _turn(
        self,
        role: TurnRole,
        items: Sequence[Item],
        calls: Sequence[TurnCall] = (),
        answer: AnswerBlock = _NO_ANSWER,
    ) -> ComposedTurn:
        return Turn(
            role=role,
            items=tuple(items),
            origin=self._entry.origin,
            seq=self._entry.seq,
            calls=tuple(calls),
            call_id=answer.call_id,
            tool_name=answer.name,
            is_error=answer.is_error,
        )
