"""Messages of any model dialect as turns: words, media, calls and answers, wherever they stand.

Clients keep their messages in the dialect of the model they talked to. What calls a tool or answers
a call is known by its shape; every other block is read as the pipeline reads blocks of tool
results, so that both know the same dialects. Nothing is dropped but a model's reasoning, which only
its own provider takes back, and what no other dialect has a place for, and that is told.
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
from pagefault_dialects.turns.page_turns import PAGE_FAULT_TOOL, PageFaultCall, faulted

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
# How a host and a provider come to terms about a call, which is no part of the conversation.
_APART = ("tool-approval-request", "tool-approval-response")
_MARKS = frozenset({"cachePoint"})
_NO_ANSWER = AnswerBlock("", "", None)


@dataclass(frozen=True, slots=True)
class MessageEntry:
    """A message, with its place in a history.

    `origin` is the path it is read from. `page_fault` is what a page fault asked for, where that
    was stored. `moved_out` has the ids of media that were moved out of
    its texts when it was stored. With `keeps_blocks`, what only its provider understands is kept
    for that; what was stored before dialects were known is read without.
    """

    message: Mapping[str, Any]
    seq: int
    origin: str = ""
    is_page_fault: bool = False
    page_fault: PageFaultCall | None = None
    moved_out: frozenset[str] = frozenset()
    keeps_blocks: bool = False


def is_cache_block(block: JsonValue) -> bool:
    """Return whether a block is Bedrock's mark for the cache, which nobody says."""
    if not is_block(block):
        return False
    said = {name for name, value in block.items() if value is not None}
    return said == _MARKS or block.keys() <= _MARKS


def message_turns(
    entry: MessageEntry,
    resources: Mapping[str, Resource],
    *,
    audience: Audience,
    finds_media: bool = False,
    uses_words: bool = False,
) -> list[ComposedTurn]:
    """Return a message as turns: each answer in it first, as a turn, then what is said.

    Args:
        entry: The message.
        resources: What it refers to, by id.
        audience: For whom the turns are.
        finds_media: Whether texts are looked through for base64; in what is stored, that has been
            moved out of them.
        uses_words: Whether blocks that only their provider knows are told in words, as they are
            with `finds_media`.
    """
    content = ContentReading(
        *(resources, audience, entry.moved_out, finds_media, uses_words),
        keeps_blocks=entry.keeps_blocks,
    )
    return _Reading(entry, content).turns()


@dataclass(slots=True)
class _Said:
    """What is said at once, what is called with it, and the answers to that."""

    items: list[Item] = field(default_factory=list)
    calls: list[TurnCall] = field(default_factory=list)
    answers: list[ComposedTurn] = field(default_factory=list)


class _Reading:
    """One message being read."""

    def __init__(self, entry: MessageEntry, content: ContentReading) -> None:
        self._entry = entry
        self._content = content
        self._message = entry.message
        self._role = _ROLES[self._message["role"]]
        self._said = [_Said()]
        self._calling: dict[str, _Said] = {}
        self._approvals: dict[str, str] = {}
        self._called = 0

    def turns(self) -> list[ComposedTurn]:
        for name in _CONTENTS:
            self._read(self._message.get(name), f"/{name}")
        self._read_aside()
        if self._role == "assistant":
            return [turn for said in self._said for turn in self._assistant(said)]
        return self._others(self._said[0])

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
                self._saying().items.extend(self._signed(call, read_call_loss(block, here)))
            elif is_block(block) and is_reasoning(block):
                kept = thought_block(block, here) if self._entry.keeps_blocks else reasoning(here)
                self._saying().items.append(kept)
            elif is_block(block) and block.get("type") in _APART:
                self._read_approval(block, here)
            elif is_cache_block(block):
                if block and self._entry.keeps_blocks:
                    self._saying().items.append(cache_mark(block, here))
            else:
                items = self._content.items(block, here, is_of_dialect=True)
                self._saying().items.extend(items)

    def _read_approval(self, block: dict[str, JsonValue], pointer: str) -> None:
        """Take what a host and its user have come to terms about: a denial answers the call."""
        left = without_a_place(pointer, str(block["type"]))
        if not self._content.uses_words:
            # A message from before messages had a reading is read as it was then.
            self._saying().items.append(left)
            return
        if request := read_approval_request(block):
            self._approvals.update([request])
        response = None if self._role == "assistant" else read_approval_response(block)
        if response is None:
            self._saying().items.append(left)
            return
        approval_id, denial = response
        item = left if denial is None else TextItem(pointer, denial)
        answer = AnswerBlock("", "", None, is_error=denial is not None)
        turn = self._turn("tool", [item], answer=answer)
        self._said[-1].answers.append(replace(turn, approval_id=approval_id))

    def _call(self, call: TurnCall) -> None:
        if not self._entry.keeps_blocks and call.thought_signature is not None:
            # A message from before messages had a reading is read as it was then.
            call = replace(call, thought_signature=None)
        said = self._saying()
        said.calls.append(call)
        self._calling.setdefault(call.call_id, said)
        self._called += 1

    def _answer(self, answer: AnswerBlock, left: list[Omission], pointer: str) -> None:
        said = None if answer.content == "" else answer.content
        items = [*self._content.items(said, pointer)]
        for part in answer.parts:
            items += self._content.items(part, pointer)
        structured = answer.structured
        if structured is not None and not is_mirrored(structured[0], map(RenderedPart, items)):
            items.append(DataItem(pointer, structured[0]))
        said = self._calling.get(answer.call_id, self._said[-1])
        said.answers.append(self._turn("tool", [*items, *left], answer=answer))

    def _read_aside(self) -> None:
        """Take what a message says beside its content: calls, a voice, a refusal, the rest."""
        message = self._message
        if self._role == "assistant":
            self._list_calls()
        audio = message.get("audio")
        if is_block(audio):
            self._saying().items.extend(self._voice(audio))
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal:
            self._saying().items.append(TextItem("/refusal", refusal))
        for item in read_loss_beside(message, self._known(), ""):
            self._saying().items.append(self._beside(item))

    def _signed(self, call: TurnCall, left: Iterator[Omission]) -> Iterator[Omission]:
        """Yield what a call loses; its signature is kept by those who check it."""
        is_kept = self._entry.keeps_blocks and call.thought_signature is not None
        for item in left:
            is_signature = is_kept and item.what in SIGNATURES
            yield replace(item, kept_by=SIGNED) if is_signature else item

    def _beside(self, item: Omission) -> Item:
        """Return what stands beside the content, kept for its provider if it is a thought."""
        name = item.pointer.removeprefix("/")
        if item.code != "reasoning" or not self._entry.keeps_blocks:
            return item
        return thought_member(name, self._message.get(name), item.pointer) or item

    def _known(self) -> frozenset[str]:
        """Return the members that are read, as they have to be for that."""
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
        """Take the calls beside the content; LangChain lists those again that are blocks."""
        again = {
            call.call_id: (said, index)
            for said in self._said
            for index, call in enumerate(said.calls)
        }
        for pointer, block in list_calls(self._message):
            call = as_listed_call(block, self._entry.seq, self._called)
            said, index = again.pop(call.call_id, (None, 0))
            if said is None:
                self._call(call)
            else:
                said.calls[index] = call
            self._saying().items.extend(self._signed(call, read_listed_call_loss(block, pointer)))

    def _voice(self, audio: dict[str, JsonValue]) -> Iterator[Item]:
        transcript = audio.get("transcript")
        words = AlternativeText("transcript", transcript) if isinstance(transcript, str) else None
        read = {name for name in _VOICE if isinstance(audio.get(name), str)}
        yield from read_loss_beside(audio, frozenset({"expires_at", *read}), "/audio")
        heard = audio.get("data")
        if not isinstance(heard, str):
            yield TextItem("/audio", words.text) if words else without_a_place("/audio", "audio")
            return
        for item in self._content.items({"type": "audio", "data": heard}, "/audio"):
            yield replace(item, words=words) if isinstance(item, Medium) else item

    def _assistant(self, said: _Said) -> Iterator[ComposedTurn]:
        if said.items or said.calls or not said.answers:
            calls = [
                replace(call, approval_id=self._approvals.get(call.call_id, ""))
                for call in said.calls
            ]
            yield self._turn("assistant", said.items, calls)
        yield from said.answers

    def _others(self, said: _Said) -> list[ComposedTurn]:
        """Return the answers first, since they stand behind their calls, and then what is said."""
        answers, items = said.answers, said.items
        if answers and all(isinstance(item, Omission) or is_cache_mark(item) for item in items):
            # Nobody goes on with nothing to say.
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
            items = [*faulted(items, fault)]
        failed = says_error(message)
        answer = AnswerBlock(call_id, name, None, is_error=failed)
        turn = self._turn("tool", items, answer=answer)
        if fault is not None:
            turn = replace(turn, recorded_call=fault.turn_call(call_id or "call"))
        return [*answers, turn]

    def _is_answer(self) -> bool:
        """Return whether the message itself is an answer, and does not only hold some."""
        holds_answers = any(said.answers for said in self._said)
        return self._role == "tool" and bool(self._message.get("tool_call_id") or not holds_answers)

    def _saying(self) -> _Said:
        """Return where what comes next belongs; behind the answers an assistant goes on."""
        if self._role == "assistant" and self._said[-1].answers:
            self._said.append(_Said())
        return self._said[-1]

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
