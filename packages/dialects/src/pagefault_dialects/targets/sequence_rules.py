"""The rules of each target for the order and the completeness of messages.

The types of SDKs accept a call without its result, but providers refuse it. `find_sequence_faults`
checks messages as they are sent, by rules from the documentation of the providers. The doctor uses
it to diagnose histories, and tests use it to check renderings. So it shares no code with the
modules that write messages.

In this module and in `message_parts.py`, `answer` is the kind of a part that has the result of a
call, and the *side* of a message is its role: system, user, assistant or tool.

Source: design document `providers.md`; the documentation of the providers; `mistral-common`,
`MistralRequestValidatorV3`; error messages of Gemini ("function call turn comes immediately after a
user turn or after a function response turn"), of Anthropic ("The final block in an assistant
message cannot be `thinking`") and of OpenAI's Responses ("of type 'reasoning' was provided without
its required following item").
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import MappingProxyType
from typing import Literal

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.targets.message_parts import (
    MessagePart,
    MessageParts,
    MessageReader,
    read_anthropic,
    read_bedrock,
    read_chat,
    read_gemini,
    read_item,
    read_otel_genai,
    read_pydantic_ai,
    read_text,
    read_vercel,
)
from pagefault_dialects.targets.rules import make_finding, shorten_quote

_ANY_TEXT = re.compile(r"[\S\s]{1,512}")
_OPENAI_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class SequenceRules:
    """The sequence rules of one target."""

    read: MessageReader
    call_id: re.Pattern[str] = _ANY_TEXT
    """The pattern of ids of calls."""
    tool_name: re.Pattern[str] = _ANY_TEXT
    """The pattern of names of tools."""
    has_ids: bool = True
    """True if calls and answers have ids. If not, an answer belongs to its tool's next call."""
    ids_are_optional: bool = False
    """True if a call and its answer may have no ids."""
    merges_sides: bool = False
    """True if the provider merges consecutive messages of one side."""
    alternates: bool = False
    """True if messages of the user and of the assistant have to alternate."""
    starts_with_user: bool = False
    """True if the first message has to be a message of the user."""
    system: Literal["anywhere", "first", "separate"] = "anywhere"
    """Where system messages may be; with `separate`, outside of the list of messages."""
    allows_blank_texts: bool = True
    """True if a text may be blank."""
    has_results_first: bool = False
    """True if answers have to precede other blocks of the user."""
    has_text_results: bool = False
    """True if an answer may have text only."""
    has_text_errors: bool = False
    """True if the answer of a failed call has to be text."""
    has_text_arguments: bool = False
    """True if the arguments of a call are a JSON object as text."""
    has_reply_to_results: bool = False
    """True if an assistant message is required between results and the user."""
    has_call_after_user: bool = False
    """True if a message with calls has to follow a message of the user, or results, directly."""
    has_signed_calls: bool = False
    """True if the first call of each message after the user's newest text has to be signed."""
    has_signed_thoughts: bool = False
    """True if thoughts have to be signed."""
    continues_thoughts: bool = False
    """True if a thought has to be followed by a text or a call."""
    has_no_trailing_space: bool = False
    """True if a last message of the assistant may not end in white space."""


def _compile_pattern(max_chars: int, characters: str) -> re.Pattern[str]:
    return re.compile(f"{characters}{{1,{max_chars}}}")


_user_first_rules = partial(
    SequenceRules,
    starts_with_user=True,
    system="separate",
    allows_blank_texts=False,
    has_results_first=True,
)

SEQUENCE_RULES: Mapping[str, SequenceRules] = MappingProxyType(
    {
        "openai-compat": SequenceRules(read_chat, tool_name=_OPENAI_NAME, has_text_arguments=True),
        "openai-chat": SequenceRules(
            read_chat,
            call_id=_compile_pattern(40, r"[\S\s]"),
            tool_name=_OPENAI_NAME,
            has_text_results=True,
            has_text_arguments=True,
        ),
        "openai-responses": SequenceRules(
            read_item,
            call_id=_compile_pattern(64, r"[\S\s]"),
            tool_name=_OPENAI_NAME,
            merges_sides=True,
            has_text_arguments=True,
            continues_thoughts=True,
        ),
        "anthropic": _user_first_rules(
            read_anthropic,
            call_id=_compile_pattern(64, r"[a-zA-Z0-9_-]"),
            tool_name=_compile_pattern(128, r"[a-zA-Z0-9_-]"),
            merges_sides=True,
            has_text_errors=True,
            has_signed_thoughts=True,
            continues_thoughts=True,
            has_no_trailing_space=True,
        ),
        "gemini": _user_first_rules(
            read_gemini,
            tool_name=re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"),
            ids_are_optional=True,
            has_call_after_user=True,
            has_signed_calls=True,
        ),
        "bedrock": _user_first_rules(
            read_bedrock,
            call_id=_compile_pattern(64, r"[a-zA-Z0-9_.:-]"),
            tool_name=_compile_pattern(64, r"[a-zA-Z0-9_-]"),
            alternates=True,
            has_text_errors=True,
        ),
        "mistral": SequenceRules(
            read_chat,
            call_id=re.compile(r"[a-zA-Z0-9]{9}"),
            tool_name=_OPENAI_NAME,
            system="first",
            has_text_results=True,
            has_text_arguments=True,
            has_reply_to_results=True,
        ),
        "ollama": SequenceRules(read_chat, has_ids=False),
        "mcp": SequenceRules(read_anthropic, merges_sides=True, system="separate"),
        "langchain": SequenceRules(read_chat),
        "vercel": SequenceRules(read_vercel),
        "vercel-6": SequenceRules(read_vercel),
        "pydantic-ai": SequenceRules(read_pydantic_ai, merges_sides=True),
        "otel-genai": SequenceRules(read_otel_genai),
        "text": SequenceRules(read_text),
    }
)
"""The rules, by target."""


def find_sequence_faults(
    messages: Sequence[JsonValue],
    target: str,
    *,
    open_calls: Collection[str] = (),
    pointers: Sequence[str] | None = None,
) -> list[Finding]:
    """Return where the messages of a target violate its rules of order and completeness.

    Args:
        messages: A whole history, as it is sent.
        target: A name of `TARGETS`.
        open_calls: The ids of calls that need no answer yet.
        pointers: JSON pointers to the messages; `/messages/0` and so on by default.

    Returns:
        The violations in the order of the messages; empty if the target accepts the messages.
    """
    rules = SEQUENCE_RULES[target]
    pointers = pointers or [f"/messages/{index}" for index in range(len(messages))]
    parsed = [
        rules.read(message, pointer)
        for message, pointer in zip(messages, pointers, strict=True)
        if isinstance(message, dict)
    ]
    merged = [*_merge_messages(parsed, merges_sides=rules.merges_sides)]
    faults = [
        *_check_pairs(merged, rules, open_calls),
        *_check_calls(parsed, rules),
        *_check_order(parsed, merged, rules),
        *_check_thoughts(merged, rules),
        *_check_ending(parsed, rules),
        *(fault for message in parsed for fault in _check_content(message, rules)),
    ]
    if rules.has_signed_calls:
        faults += _check_signatures(parsed)
    order = {message.pointer: index for index, message in enumerate(parsed)}
    for message in parsed:
        order |= dict.fromkeys((part.pointer for part in message.parts), order[message.pointer])
    return sorted(faults, key=lambda fault: order[fault.pointer])


def _merge_messages(
    messages: Iterable[MessageParts], *, merges_sides: bool
) -> Iterator[MessageParts]:
    """Yield messages, with consecutive messages of results merged.

    With `merges_sides`, consecutive messages of any other side are merged too.
    """
    last: MessageParts | None = None
    for message in messages:
        is_same = last is not None and last.side == message.side
        if last is not None and is_same and (merges_sides or message.side == "tool"):
            last = MessageParts(last.pointer, last.side, (*last.parts, *message.parts))
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _check_pairs(
    messages: Sequence[MessageParts], rules: SequenceRules, open_calls: Collection[str]
) -> Iterator[Finding]:
    """Yield calls that the next message does not answer, and answers without a call before them."""
    waiting: list[MessagePart] = []
    earlier_ids: set[str | None] = set()
    answered_ids: set[str | None] = set()
    all_ids = {part.call_id for message in messages for part in message.of_kind("call")} - {None}
    for message in messages:
        for answer in message.of_kind("answer"):
            call_id = answer.call_id
            if (call := _find_call(answer, waiting, rules)) is not None:
                waiting.remove(call)
                answered_ids.add(call_id)
            elif call_id in answered_ids and call_id is not None:
                yield _make_fault("duplicate-answer", answer, call_id)
            elif call_id in earlier_ids:
                yield _make_fault("late-answer", answer, call_id)
            else:
                code = "wrong-order" if call_id in all_ids else "no-call"
                yield _make_fault(code, answer, call_id)
        yield from _check_unanswered(waiting, open_calls)
        waiting = message.of_kind("call")
        earlier_ids |= {call.call_id for call in waiting} - {None}
    yield from _check_unanswered(waiting, open_calls)


def _find_call(
    answer: MessagePart, waiting: Sequence[MessagePart], rules: SequenceRules
) -> MessagePart | None:
    """Return the waiting call of an answer, by its id; without ids, the next call of its tool."""
    for call in waiting:
        if answer.call_id is not None and call.call_id is not None and rules.has_ids:
            if answer.call_id == call.call_id:
                return call
        elif answer.name in (None, call.name):
            return call
    return None


def _check_unanswered(
    waiting: Iterable[MessagePart], open_calls: Collection[str]
) -> Iterator[Finding]:
    for call in waiting:
        # A call without an id counts as open if any call may be open.
        may_be_open = bool(open_calls) if call.call_id is None else call.call_id in open_calls
        if not may_be_open:
            yield _make_fault("no-answer", call, call.call_id)


def _check_calls(messages: Sequence[MessageParts], rules: SequenceRules) -> Iterator[Finding]:
    """Yield calls with an invalid id, name or arguments, and calls whose id was used before."""
    used: set[str | None] = set()
    for part in (item for message in messages for item in message.parts):
        if part.kind not in ("call", "answer"):
            continue
        yield from _check_names(part, rules)
        if part.kind != "call":
            continue
        if part.call_id in used:
            yield _make_fault("duplicate-id", part, part.call_id)
        used |= {part.call_id} - {None}
        if not _is_object(part.arguments, as_text=rules.has_text_arguments):
            yield _make_fault("bad-arguments", part, str(part.arguments))


def _check_names(part: MessagePart, rules: SequenceRules) -> Iterator[Finding]:
    call_id, name = part.call_id, part.name
    if call_id is None and rules.has_ids and not rules.ids_are_optional:
        yield _make_fault("no-id", part, None)
    elif call_id is not None and rules.call_id.fullmatch(call_id) is None:
        yield _make_fault("bad-id", part, call_id)
    must_have_name = part.kind == "call" or name is not None
    if must_have_name and rules.tool_name.fullmatch(name or "") is None:
        yield _make_fault("bad-name", part, name)


def _is_object(arguments: JsonValue, *, as_text: bool) -> bool:
    """Return whether arguments are an object; with `as_text`, whether they are its JSON text."""
    if not as_text or not isinstance(arguments, str):
        # For a call whose arguments are not to be checked, readers return an empty object. With
        # `as_text`, any other object is invalid.
        return isinstance(arguments, dict) and not (as_text and arguments)
    try:
        return isinstance(json.loads(arguments), dict)
    except ValueError:
        return False


def _check_order(
    messages: Sequence[MessageParts], merged: Sequence[MessageParts], rules: SequenceRules
) -> Iterator[Finding]:
    """Yield messages whose side is not allowed at their position."""
    first = next((message for message in merged if message.side != "system"), None)
    if first is not None and rules.starts_with_user and not _is_user_text(first):
        yield make_finding("no-beginning", first.pointer, actual=first.side)
    has_begun = False
    for message in messages:
        if message.side != "system":
            has_begun = True
        elif rules.system == "separate":
            yield make_finding("system-among-messages", message.pointer)
        elif has_begun and rules.system == "first":
            yield make_finding("late-system", message.pointer)
    for before, message in pairwise(messages):
        if rules.alternates and before.side == message.side:
            yield make_finding("same-side-twice", message.pointer, actual=message.side)
        needs_reply = rules.has_reply_to_results and before.side == "tool"
        if needs_reply and message.side not in ("tool", "assistant"):
            yield make_finding("no-reply", message.pointer, actual=message.side)
        calls = message.of_kind("call")
        if calls and rules.has_call_after_user and before.side == "assistant":
            yield _make_fault("late-call", calls[0], calls[0].call_id)


def _check_ending(messages: Sequence[MessageParts], rules: SequenceRules) -> Iterator[Finding]:
    """Yield white space at the end of the last message, if that is a message of the assistant."""
    if not rules.has_no_trailing_space or not messages or messages[-1].side != "assistant":
        return
    for part in messages[-1].parts[-1:]:
        if part.text != part.text.rstrip():
            yield make_finding("trailing-space", part.pointer)


def _is_user_text(message: MessageParts) -> bool:
    """Return whether a message is the user's, and has no results of calls."""
    return message.side == "user" and not message.of_kind("answer")


def _check_signatures(messages: Sequence[MessageParts]) -> Iterator[Finding]:
    """Yield the unsigned first call of each message after the newest message of the user."""
    newest_user_index = max(
        (index for index, message in enumerate(messages) if _is_user_text(message)), default=-1
    )
    for message in messages[newest_user_index + 1 :]:
        for call in message.of_kind("call")[:1]:
            if not call.is_signed:
                yield _make_fault("unsigned-call", call, call.call_id)


def _check_thoughts(messages: Sequence[MessageParts], rules: SequenceRules) -> Iterator[Finding]:
    """Yield thoughts without a signature, and thoughts without a text or a call after them.

    A thought at the end of the history is allowed, since the text after it may not be written yet.
    """
    for index, message in enumerate(messages):
        thoughts = message.of_kind("thought")
        if rules.has_signed_thoughts:
            yield from (
                make_finding("unsigned-thought", thought.pointer)
                for thought in thoughts
                if not thought.is_signed
            )
        if not thoughts or not rules.continues_thoughts:
            continue
        ends_message = message.parts[-1] == thoughts[-1] and index < len(messages) - 1
        if message.side != "assistant" or ends_message:
            yield make_finding("misplaced-thought", thoughts[-1].pointer)


def _check_content(message: MessageParts, rules: SequenceRules) -> Iterator[Finding]:
    """Yield empty parts, results after other blocks, and results with invalid content."""
    if not message.parts:
        yield make_finding("empty-content", message.pointer)
    has_other_content = False
    for part in message.parts:
        if part.kind != "answer":
            has_other_content = True
            text = part.text if rules.allows_blank_texts else part.text.strip()
            if part.kind == "text" and not text and not part.is_signed:
                yield make_finding("empty-content", part.pointer, actual=shorten_quote(part.text))
            continue
        if has_other_content and rules.has_results_first:
            yield _make_fault("results-not-first", part, part.call_id)
        if rules.has_text_results and not part.kinds <= {"text"}:
            yield _make_fault("media-in-result", part, ", ".join(sorted(part.kinds)))
        if part.is_error and rules.has_text_errors and part.kinds != {"text"}:
            code = "media-in-error" if part.kinds else "empty-content"
            yield _make_fault(code, part, ", ".join(sorted(part.kinds)))


def _make_fault(code: str, part: MessagePart, actual: str | None) -> Finding:
    value = None if actual is None else shorten_quote(actual)
    return make_finding(code, part.pointer, actual=value, call_id=part.call_id)
