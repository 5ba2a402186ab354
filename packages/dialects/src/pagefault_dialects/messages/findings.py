"""Finds the faults of a history that its rendering repairs.

Most of these faults are entries in the loss account of the rendering. Others are repaired without
loss, and are found by comparing the turns with the rules of the target. `message_faults` finds
faults that turns do not show.
"""

import re
from collections.abc import Iterator, Sequence

from pagefault_dialects.dialects.foreign_message import Dialect
from pagefault_dialects.media.headers import read_hints
from pagefault_dialects.model.conversation import (
    Address,
    ComposedTurn,
    InlineBytes,
    Medium,
    Omission,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import base64_length
from pagefault_dialects.targets.profile import IdRule, Profile, media_class
from pagefault_dialects.targets.rules import RULES, Rule, make_finding, shorten_quote

_PAIR_RULES = ("no-call", "late-answer", "no-answer")
_DUPLICATE = "duplicate-answer"
# Codes in the loss account for which other functions yield findings, with more details.
_OTHER_CODES = frozenset({*_PAIR_RULES, _DUPLICATE, "empty-content", "not-a-message"})
# Dialects in which the result of a failed call can only be a text.
_TEXT_ERROR_DIALECTS = ("anthropic", "bedrock")


def find_lossy_faults(
    loss: Sequence[LossEntry],
    turns: Sequence[ComposedTurn],
    profile: Profile,
    dialect: Dialect | None,
) -> Iterator[Finding]:
    """Yield a finding for each fault in a loss account, without duplicates.

    Args:
        loss: The account.
        turns: The conversation that was rendered.
        profile: The target.
        dialect: The dialect of the history; `None` if the target is of another dialect.
    """
    media_by_pointer = _group_media(turns)
    all_media = [item for group in media_by_pointer.values() for item in group]
    reported: set[tuple[int | None, str, str]] = set()
    for entry in loss:
        key = (entry.seq, entry.pointer, entry.code)
        rule = RULES[entry.code]
        if key in reported or not rule.is_fault or entry.code in _OTHER_CODES:
            continue
        reported.add(key)
        # All media of a result have the pointer of the result. If there are several, the medium of
        # the entry is found by its type, which is in the reason.
        candidates = media_by_pointer.get((entry.seq, entry.pointer), ())
        of_type = (medium for medium in candidates if medium.mime_type in entry.reason)
        medium = next(of_type, next(iter(candidates), None))
        if dialect is not None and medium is not None and _is_untyped_link(medium, profile):
            continue
        if medium is None:
            yield make_finding(entry.code, entry.pointer, seq=entry.seq)
            continue
        count = sum(media_class(item.kind) == media_class(medium.kind) for item in all_media)
        actual = count if rule.limit == "max_count" else _measure(rule, medium, entry)
        yield make_finding(
            entry.code,
            entry.pointer,
            limit=_find_limit(rule, medium, profile, actual),
            actual=actual,
            seq=entry.seq,
        )


def _group_media(turns: Sequence[ComposedTurn]) -> dict[tuple[int | None, str], list[Medium]]:
    """Return media by the number of their entry and their pointer."""
    media: dict[tuple[int | None, str], list[Medium]] = {}
    for turn in turns:
        for item in turn.items:
            if isinstance(item, Medium):
                media.setdefault((turn.seq, item.pointer), []).append(item)
    return media


def _is_untyped_link(medium: Medium, profile: Profile) -> bool:
    """Return whether a medium is a link of unknown type that the provider loads by itself."""
    rule = profile.find_media_rule(medium.kind)
    loads_link = isinstance(medium.source, Address) and rule and rule.accepts_url(medium.source.url)
    return bool(loads_link) and medium.mime_type == "application/octet-stream"


def _find_limit(
    rule: Rule, medium: Medium, profile: Profile, actual: int | str
) -> int | str | None:
    """Return the limit of the target that a medium exceeds; `None` if the rule has no limit.

    Several allowed types or schemes are returned as one text.

    Args:
        rule: The violated rule, whose `limit` names a field of the target's rule for media.
        medium: The medium.
        profile: The target.
        actual: The property of the medium that exceeds the limit.
    """
    media_rule = profile.find_media_rule(medium.kind)
    if rule.limit is None or media_rule is None:
        return None
    value = getattr(media_rule, rule.limit)
    if (
        rule.limit == "max_side"
        and media_rule.max_side_of_many
        and isinstance(actual, int)
        and actual <= value
    ):
        # If there are many images, the limit of each is lower.
        return media_rule.max_side_of_many[1]
    return value if isinstance(value, int) or value is None else ", ".join(sorted(value))


def _measure(rule: Rule, medium: Medium, entry: LossEntry) -> int | str:
    """Return the property of a medium that a rule limits; the reason, if it limits no property."""
    match rule.limit:
        case "types":
            return medium.mime_type
        case "addresses" if isinstance(medium.source, Address):
            return shorten_quote(medium.source.url)
        case "max_base64":
            return base64_length(medium.size_bytes or 0)
        case "max_side" | "min_side":
            hints = medium.hints
            if isinstance(medium.source, InlineBytes):
                hints = read_hints(medium.source.data, medium.mime_type)
            sides = (hints.width or 0, hints.height or 0)
            return max(sides) if rule.limit == "max_side" else min(sides)
        case _:
            return entry.reason


def find_repaired_faults(
    turns: Sequence[ComposedTurn], profile: Profile, dialect: Dialect | None
) -> Iterator[Finding]:
    """Yield the faults that a rendering repairs without loss.

    Args:
        turns: The history as it was recorded.
        profile: The target.
        dialect: The dialect of the history; `None` if the target is of another dialect.
    """
    yield from _check_calls(turns, profile)
    yield from _check_order(turns)
    for turn in turns:
        yield from _check_items(turn, profile, dialect)


def find_unpaired_calls(
    conversation: Sequence[ComposedTurn], turns: Sequence[ComposedTurn]
) -> Iterator[Finding]:
    """Yield a finding for each call without a result, result without a call, or second result.

    Args:
        conversation: The history after pairing, with added calls and results.
        turns: The history as it was recorded.
    """
    turns_by_call: dict[str, list[ComposedTurn]] = {}
    for turn in turns:
        for call in turn.calls:
            turns_by_call.setdefault(call.call_id, []).append(turn)
    yield from _find_second_results(conversation, turns)
    for turn in conversation:
        for note in turn.items:
            if not isinstance(note, SyntheticNote) or note.code not in _PAIR_RULES:
                continue
            call_id, source = turn.call_id, turn
            if note.what == "call":
                # Pairing may have added a number to the id of the result.
                added_id = turn.calls[0].call_id
                sent_ids = (item.call_id for item in turns if item.seq == note.seq)
                call_id = next(
                    (sent_id for sent_id in sent_ids if _is_numbered(added_id, sent_id)), added_id
                )
            if note.what == "answer":
                # A call that was joined to an earlier turn is reported at the turn that had it.
                calling_turns = (
                    item
                    for item in turns_by_call.get(call_id, ())
                    if (item.seq or 0) >= (note.seq or 0)
                )
                source = next(calling_turns, turn)
            yield make_finding(note.code, source.origin, seq=source.seq, call_id=call_id)


def _find_second_results(
    conversation: Sequence[ComposedTurn], turns: Sequence[ComposedTurn]
) -> Iterator[Finding]:
    """Yield a finding for each result that was omitted because its call has another result."""
    call_ids = {
        (turn.seq, item.pointer): turn.call_id
        for turn in turns
        if turn.role == "tool"
        for item in turn.items
        if not isinstance(item, SyntheticNote)
    }
    for turn in conversation:
        for note in turn.items:
            if isinstance(note, Omission) and note.code == _DUPLICATE:
                call_id = call_ids.get((note.seq, note.pointer))
                yield make_finding(_DUPLICATE, note.pointer, seq=note.seq, call_id=call_id)


def _is_numbered(added_id: str, call_id: str) -> bool:
    """Return whether the id of an added call is a sent id, or a sent id followed by a number."""
    return bool(call_id) and re.fullmatch(rf"{re.escape(call_id)}(-\d+)?", added_id) is not None


def _check_calls(turns: Sequence[ComposedTurn], profile: Profile) -> Iterator[Finding]:
    """Yield a finding for each id and tool name that the target does not accept."""
    used_ids: set[str] = set()
    for turn in turns:
        for call in turn.calls:
            path, seq, call_id = turn.origin, turn.seq, shorten_quote(call.call_id)
            if call.call_id in used_ids:
                yield make_finding("duplicate-id", path, actual=call_id, call_id=call_id, seq=seq)
            elif profile.call_id.fit(call.call_id) != call.call_id:
                rule = _describe_rule(profile.call_id)
                yield make_finding(
                    "bad-id", path, limit=rule, actual=call_id, call_id=call_id, seq=seq
                )
            if profile.tool_name.fit(call.name) != call.name:
                rule = _describe_rule(profile.tool_name)
                name = shorten_quote(call.name)
                yield make_finding(
                    "bad-name", path, limit=rule, actual=name, seq=seq, call_id=call.call_id
                )
            used_ids.add(call.call_id)


def _describe_rule(rule: IdRule) -> str:
    return f"up to {rule.max_chars} of {rule.characters}"


def _check_order(turns: Sequence[ComposedTurn]) -> Iterator[Finding]:
    """Yield a finding for each result before its call. The loss account has the late results."""
    call_indexes: dict[str, int] = {}
    for index, turn in enumerate(turns):
        for call in turn.calls:
            call_indexes.setdefault(call.call_id, index)
    for index, turn in enumerate(turns):
        if turn.role == "tool" and call_indexes.get(turn.call_id, -1) > index:
            call_id = turn.call_id
            yield make_finding(
                "wrong-order",
                turn.origin,
                actual=shorten_quote(call_id),
                seq=turn.seq,
                call_id=call_id,
            )


def _check_items(
    turn: ComposedTurn, profile: Profile, dialect: Dialect | None
) -> Iterator[Finding]:
    """Yield findings for empty content, and for media that cannot stay where they are."""
    is_result = turn.role == "tool"
    is_text_error = is_result and turn.is_error and dialect in _TEXT_ERROR_DIALECTS
    if not turn.items and not turn.calls and (is_text_error or not is_result):
        yield make_finding("empty-content", turn.origin, seq=turn.seq)
    for item in turn.items:
        if isinstance(item, TextItem) and _is_omitted(item.text, profile):
            # SDKs write an empty text as the whole content of a result, or beside calls. That is no
            # fault, but an empty block is.
            is_block = item.pointer.rpartition("/")[2].isdigit()
            if is_block or is_text_error or not (turn.calls or is_result):
                yield make_finding(
                    "empty-content", item.pointer, actual=shorten_quote(item.text), seq=turn.seq
                )
        elif isinstance(item, Medium):
            yield from _check_medium(turn, item)
            is_refused = is_text_error or (is_result and dialect == "openai-chat")
            if is_refused and not item.is_in_text:
                yield make_finding(
                    "media-in-error" if is_text_error else "media-in-result",
                    item.pointer,
                    actual=item.mime_type,
                    seq=turn.seq,
                    call_id=turn.call_id,
                )


def _is_omitted(text: str, profile: Profile) -> bool:
    """Return whether a rendering omits a text because it is empty or blank."""
    return not (text if profile.allows_blank_texts else text.strip())


def _check_medium(turn: ComposedTurn, medium: Medium) -> Iterator[Finding]:
    if medium.is_in_text:
        yield make_finding("base64-in-text", medium.pointer, actual=medium.mime_type, seq=turn.seq)
    if claimed := medium.claimed_type:
        yield make_finding(
            "mislabelled-media",
            medium.pointer,
            limit=medium.mime_type,
            actual=shorten_quote(claimed),
            seq=turn.seq,
        )
