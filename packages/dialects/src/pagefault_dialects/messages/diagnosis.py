"""Diagnoses of histories: all findings, in the order of the messages."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.messages.findings import (
    find_lossy_faults,
    find_repaired_faults,
    find_unpaired,
)
from pagefault_dialects.messages.histories import Dialect, ForeignMessage
from pagefault_dialects.messages.message_faults import message_faults
from pagefault_dialects.messages.reading import ReadHistory
from pagefault_dialects.model.conversation import ComposedTurn, TextItem
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.targets.profile import Profile
from pagefault_dialects.targets.rules import make_finding, shorten_quote
from pagefault_dialects.targets.sequence_rules import find_sequence_faults

_ENTRIES = "/entries/"
# The rules of order that neither turns nor the loss account show.
_ORDER_RULES = ("late-call", "unsigned-call", "unsigned-thought", "misplaced-thought")


def diagnose(
    history: ReadHistory,
    profile: Profile,
    loss: Sequence[LossEntry],
    main: Dialect | None,
    *,
    sent: Sequence[JsonValue] = (),
    is_session: bool = False,
) -> list[Finding]:
    """Return the findings of a history.

    Args:
        history: The history. In that of a session, entries that are no messages are empty messages.
        profile: The target.
        loss: The loss of its rendering for the target, by the numbers of its turns.
        main: The intended dialect; `None` for plain messages.
        sent: The original messages; without them, their order is not checked.
        is_session: Whether the history is a session, whose findings have numbers of entries.
    """
    own = main if profile.target == (main or "openai-chat") else None
    findings = [
        *find_repaired_faults(history.recorded, profile, own),
        *find_unpaired(history.turns, history.recorded),
        *find_lossy_faults(loss, history.turns, profile, own),
    ]
    findings += _split_calls(history)
    if own == "anthropic":
        findings += _trailing_space(history.recorded)
    order = [*_check_order(history, sent, profile.target, main)]
    if is_session:
        messages = [message for message in history.messages if message.message is not None]
        faults = message_faults(messages, main)
        return _sort_by_entry([*findings, *map(_by_entry, order), *map(_by_entry, faults)])
    findings += message_faults(history.messages, main)
    findings += order
    findings = [
        finding for finding in findings if not _is_made_by_model(finding, own, history.messages)
    ]
    named = [_with_pointer(finding, history.messages) for finding in findings]
    places = {message.pointer: index for index, message in enumerate(history.messages)}
    return sorted(named, key=lambda item: _place(item, places))


def _sort_by_entry(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of entries. The pointer of an entry as a whole is empty."""
    named = (
        finding.model_copy(update={"pointer": ""})
        if finding.pointer.startswith("/api/")
        else finding
        for finding in findings
    )
    return sorted(named, key=lambda item: item.seq or 0)


def _check_order(
    history: ReadHistory, sent: Sequence[JsonValue], target: str, main: Dialect | None
) -> Iterator[Finding]:
    """Yield the faults in the order of original messages, if they are in the target's form."""
    pointers = [message.pointer for message in history.messages if not message.is_apart]
    if not is_home(history, target, main) or len(sent) != len(pointers):
        return
    faults = find_sequence_faults(sent, target, pointers=pointers)
    yield from (fault for fault in faults if fault.rule in _ORDER_RULES)


def without_originals(turns: Sequence[ComposedTurn]) -> list[ComposedTurn]:
    """Return turns without their original messages, so that all of them are rewritten."""
    return [replace(turn, natives=()) for turn in turns]


def _by_entry(finding: Finding) -> Finding:
    """Return a finding with the number of its entry, taken from the path in its pointer."""
    entry, _, inner = finding.pointer.removeprefix(_ENTRIES).partition("/")
    pointer = f"/{inner}" if inner else ""
    return finding.model_copy(update={"seq": int(entry), "pointer": pointer})


def entry_pointer(seq: int) -> str:
    """Return the pointer of the message of an entry."""
    return f"{_ENTRIES}{seq}"


def is_home(history: ReadHistory, target: str, main: Dialect | None) -> bool:
    """Return whether a history is in the form of a target's requests."""
    is_as_sent = all(message.is_as_sent for message in history.messages)
    return target == (main or "openai-chat") and is_as_sent


def _split_calls(history: ReadHistory) -> Iterator[Finding]:
    """Yield the messages whose calls were joined to those of the message before."""
    kept = {turn.seq for turn in history.joined}
    for index, foreign in enumerate(history.messages):
        message = foreign.message
        if message is None or foreign.joins or index + 1 in kept or not history.joined:
            continue
        if message["role"] in ("assistant", "model"):
            pointer = "" if foreign.pointer.startswith(_ENTRIES) else foreign.pointer
            yield make_finding("split-calls", pointer, seq=index + 1)


def _trailing_space(turns: Sequence[ComposedTurn]) -> Iterator[Finding]:
    """Yield the last text of a history, if it is the assistant's and ends in white space."""
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
    finding: Finding, own: Dialect | None, messages: Sequence[ForeignMessage]
) -> bool:
    """Return whether a finding is about a picture of a model, which its provider accepts."""
    if finding.rule != "no-media-here" or finding.seq is None:
        return False
    is_item = finding.pointer == messages[finding.seq - 1].pointer
    return own == "gemini" or (own == "openai-responses" and is_item)


def _with_pointer(finding: Finding, messages: Sequence[ForeignMessage]) -> Finding:
    """Return a finding with a pointer in place of the number of an entry."""
    if finding.seq is None:
        return finding
    pointer = finding.pointer or messages[finding.seq - 1].pointer
    return finding.model_copy(update={"seq": None, "pointer": pointer})


def _place(finding: Finding, places: dict[str, int]) -> int:
    pointer = finding.pointer
    while pointer and pointer not in places:
        pointer = pointer.rpartition("/")[0]
    return places.get(pointer, -1)
