"""Finds all faults of a history, by `findings` and `message_faults`, and puts them in order."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.messages.findings import (
    find_lossy_faults,
    find_repaired_faults,
    find_unpaired_calls,
)
from pagefault_dialects.messages.message_faults import find_message_faults
from pagefault_dialects.messages.reading import ReadHistory
from pagefault_dialects.model.conversation import ComposedTurn, TextItem
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.rules import make_finding, shorten_quote
from pagefault_dialects.targets.sequence_rules import find_sequence_faults

# The beginning of the pointers to messages of a session, before the number of the entry.
_ENTRIES = "/entries/"
# Rules about the order of messages. Neither turns nor the loss account show that they are violated.
_ORDER_RULES = ("late-call", "unsigned-call", "unsigned-thought", "misplaced-thought")


def diagnose(
    history: ReadHistory,
    profile: Profile,
    loss: Sequence[LossEntry],
    main_dialect: Dialect | None,
    *,
    sent: Sequence[JsonValue] = (),
    is_session: bool = False,
) -> list[Finding]:
    """Return the findings of a history, in the order of its messages.

    Args:
        history: The history. In the history of a session, entries other than messages are messages
            without content.
        profile: The target.
        loss: The loss account of its rendering for the target. Entries have numbers of messages.
        main_dialect: The dialect of the history; `None` if all messages could be of any dialect.
        sent: The messages as they were sent; without them, their order is not checked.
        is_session: Whether the history is a session. Findings then have the number of the entry and
            a pointer into it, otherwise a pointer into the history.
    """
    # The rules of a dialect are checked only if the history is for a target of the same dialect.
    is_own_target = profile.target == (main_dialect or "openai-chat")
    dialect = main_dialect if is_own_target else None
    findings = [
        *find_repaired_faults(history.recorded, profile, dialect),
        *find_unpaired_calls(history.turns, history.recorded),
        *find_lossy_faults(loss, history.turns, profile, dialect),
    ]
    findings += _find_split_calls(history)
    if dialect == "anthropic":
        findings += _find_trailing_space(history.recorded)
    order_faults = [*_check_order(history, sent, profile.target, main_dialect)]
    if is_session:
        messages = [message for message in history.messages if message.message is not None]
        faults = [*order_faults, *find_message_faults(messages, main_dialect)]
        return _sort_by_entry([*findings, *map(_set_entry, faults)])
    findings += find_message_faults(history.messages, main_dialect)
    findings += order_faults
    located = [
        _set_pointer(finding, history.messages)
        for finding in findings
        if not _is_made_by_model(finding, dialect, history.messages)
    ]
    indexes = {message.pointer: index for index, message in enumerate(history.messages)}
    return sorted(located, key=lambda finding: _find_message_index(finding, indexes))


def _sort_by_entry(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of entries.

    A finding about an entry as a whole has the path of the entry as its pointer. The path is
    replaced by an empty pointer.
    """
    with_pointers = (
        finding.model_copy(update={"pointer": ""})
        if finding.pointer.startswith("/api/")
        else finding
        for finding in findings
    )
    return sorted(with_pointers, key=lambda finding: finding.seq or 0)


def _check_order(
    history: ReadHistory, sent: Sequence[JsonValue], target: str, main_dialect: Dialect | None
) -> Iterator[Finding]:
    """Yield the faults in the order of messages that were sent in the form of the target."""
    pointers = [message.pointer for message in history.messages if not message.is_system_prompt]
    if not has_target_form(history, target, main_dialect) or len(sent) != len(pointers):
        return
    faults = find_sequence_faults(sent, target, pointers=pointers)
    yield from (fault for fault in faults if fault.rule in _ORDER_RULES)


def remove_sent_messages(turns: Sequence[ComposedTurn]) -> list[ComposedTurn]:
    """Return turns without their sent messages, so that a rendering copies none of these."""
    return [replace(turn, native_messages=()) for turn in turns]


def _set_entry(finding: Finding) -> Finding:
    """Return a finding with the number of its entry, taken from the beginning of its pointer."""
    entry, _, inner = finding.pointer.removeprefix(_ENTRIES).partition("/")
    pointer = f"/{inner}" if inner else ""
    return finding.model_copy(update={"seq": int(entry), "pointer": pointer})


def make_entry_pointer(seq: int) -> str:
    """Return the pointer to the message of an entry, in the findings of a session."""
    return f"{_ENTRIES}{seq}"


def has_target_form(history: ReadHistory, target: str, main_dialect: Dialect | None) -> bool:
    """Return whether a history is in the form of a target's requests."""
    are_requests = all(message.has_request_form for message in history.messages)
    # A request of OpenAI Chat has no member for a system prompt beside its messages.
    lacks_place = target == "openai-chat" and any(
        message.is_system_prompt for message in history.messages
    )
    return target == (main_dialect or "openai-chat") and are_requests and not lacks_place


def _find_split_calls(history: ReadHistory) -> Iterator[Finding]:
    """Yield a finding for each message whose calls were joined to those of the message before."""
    first_of_turn = {turn.seq for turn in history.joined}
    for index, foreign in enumerate(history.messages):
        message = foreign.message
        if message is None or foreign.continues_turn or index + 1 in first_of_turn:
            continue
        if history.joined and message["role"] in ("assistant", "model"):
            pointer = "" if foreign.pointer.startswith(_ENTRIES) else foreign.pointer
            yield make_finding("split-calls", pointer, seq=index + 1)


def _find_trailing_space(turns: Sequence[ComposedTurn]) -> Iterator[Finding]:
    """Yield a finding if the last text of a history is the assistant's and ends in white space."""
    last = turns[-1] if turns else None
    if last is None or last.role != "assistant" or last.calls or not last.items:
        return
    item = last.items[-1]
    if isinstance(item, TextItem) and item.text.strip() and item.text != item.text.rstrip():
        space = json_text(item.text[len(item.text.rstrip()) :])
        yield make_finding(
            "trailing-space", item.pointer, actual=shorten_quote(space), seq=last.seq
        )


def _is_made_by_model(
    finding: Finding, dialect: Dialect | None, messages: Sequence[ForeignMessage]
) -> bool:
    """Return whether a finding is about a picture that a model made, which its provider accepts."""
    if finding.rule != "no-media-here" or finding.seq is None:
        return False
    # In OpenAI's Responses, a made picture is an item of its own, and not a block in a message.
    is_whole_message = finding.pointer == messages[finding.seq - 1].pointer
    return dialect == "gemini" or (dialect == "openai-responses" and is_whole_message)


def _set_pointer(finding: Finding, messages: Sequence[ForeignMessage]) -> Finding:
    """Return a finding with a pointer into the history in place of the number of a message."""
    if finding.seq is None:
        return finding
    pointer = finding.pointer or messages[finding.seq - 1].pointer
    return finding.model_copy(update={"seq": None, "pointer": pointer})


def _find_message_index(finding: Finding, indexes: dict[str, int]) -> int:
    """Return the index of the message of a finding; -1 for the history as a whole.

    Args:
        finding: The finding, whose pointer leads into a message.
        indexes: The indexes of messages, by their pointers.
    """
    pointer = finding.pointer
    while pointer and pointer not in indexes:
        pointer = pointer.rpartition("/")[0]
    return indexes.get(pointer, -1)
