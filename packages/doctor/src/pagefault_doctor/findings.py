"""What is wrong with a history, by the rules that its rendering follows.

Most shows in the rendering's own account of the loss. The rest is what a rendering puts right
without losing anything, and is looked for here.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pagefault_dialects.messages.histories import Dialect, ForeignMessage
from pagefault_dialects.messages.message_calls import listed
from pagefault_dialects.model.conversation import Address, ComposedTurn, Medium, TextItem
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import base64_length
from pagefault_dialects.targets.profile import IdRule, Profile, media_class
from pagefault_dialects.targets.rules import RULES, Rule
from pagefault_doctor.diagnoses import Finding

_LONGEST_QUOTE = 80


def found(
    rule: str,
    pointer: str,
    *,
    limit: int | str | None = None,
    actual: int | str | None = None,
    seq: int | None = None,
) -> Finding:
    """Return a finding, with what the table says of its rule."""
    told = RULES[rule]
    return Finding(
        seq=seq,
        pointer=pointer,
        rule=rule,
        demands=told.demands,
        limit=limit,
        actual=actual,
        fix=told.fix,
        source=told.source,
    )


def of_loss(
    loss: Sequence[LossEntry], turns: Sequence[ComposedTurn], profile: Profile
) -> Iterator[Finding]:
    """Yield what the account of a loss tells that is somebody's fault, each thing once."""
    media = {
        (turn.seq, item.pointer): item
        for turn in turns
        for item in turn.items
        if isinstance(item, Medium)
    }
    told: set[tuple[int | None, str, str]] = set()
    for entry in loss:
        place = (entry.seq, entry.pointer, entry.code)
        rule = RULES[entry.code]
        if place in told or not rule.is_fault:
            continue
        told.add(place)
        medium = media.get((entry.seq, entry.pointer))
        if medium is None:
            yield found(entry.code, entry.pointer, seq=entry.seq)
            continue
        same = sum(media_class(each.kind) == media_class(medium.kind) for each in media.values())
        yield found(
            entry.code,
            entry.pointer,
            limit=_limit(rule, medium, profile),
            actual=same if rule.limit == "most" else _actual(rule, medium, entry),
            seq=entry.seq,
        )


def _limit(rule: Rule, medium: Medium, profile: Profile) -> int | str | None:
    media = profile.rule(medium.kind)
    if rule.limit is None or media is None:
        return None
    value = getattr(media, rule.limit)
    return value if isinstance(value, int) or value is None else ", ".join(sorted(value))


def _actual(rule: Rule, medium: Medium, entry: LossEntry) -> int | str:
    match rule.limit:
        case "types":
            return medium.mime_type
        case "addresses" if isinstance(medium.source, Address):
            return quoted(medium.source.url)
        case "most_base64":
            return base64_length(medium.size_bytes or 0)
        case "most_side":
            return max(medium.hints.width or 0, medium.hints.height or 0)
        case _:
            return entry.reason


def quoted(text: str) -> str:
    """Return what a history says, no longer than is read."""
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 1]}…"


def of_messages(messages: Sequence[ForeignMessage], main: Dialect | None) -> Iterator[Finding]:
    """Yield what is wrong with entries as such: those that are none, odd roles, other dialects."""
    for each in messages:
        if each.message is None:
            yield found("not-a-message", each.pointer)
        elif each.said_role is not None:
            yield found("unknown-role", f"{each.pointer}/role", actual=quoted(each.said_role))
        if each.message is not None:
            # Calls and results in samplings of MCP have the shape of Anthropic's.
            is_as_in_mcp = (each.dialect, main) == ("anthropic", "mcp")
            if each.dialect not in (None, main) and not is_as_in_mcp:
                yield found("mixed-dialects", each.pointer, limit=main, actual=each.dialect)
            for pointer, text in _spelled_arguments(each.message):
                yield found("bad-arguments", each.place(pointer), actual=quoted(text))


def _spelled_arguments(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield arguments that are given as a text, and are not that of a JSON object."""
    content = message.get("content")
    spelled = [
        (f"{pointer}/function/arguments", _members(call.get("function")).get("arguments"))
        for pointer, call in listed(message)
    ]
    spelled += [
        (f"/content/{index}/arguments", _members(block).get("arguments"))
        for index, block in enumerate(content if isinstance(content, list) else [])
    ]
    for pointer, text in spelled:
        if isinstance(text, str) and text.strip() and not _is_object(text):
            yield pointer, text


def _members(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def of_turns(turns: Sequence[ComposedTurn], profile: Profile) -> Iterator[Finding]:
    """Yield what a rendering puts right and loses nothing by."""
    yield from _of_calls(turns, profile)
    yield from _of_order(turns)
    for turn in turns:
        yield from _of_items(turn)


def _of_calls(turns: Sequence[ComposedTurn], profile: Profile) -> Iterator[Finding]:
    used: set[str] = set()
    for turn in turns:
        for call in turn.calls:
            place, seq = turn.origin, turn.seq
            if call.call_id in used:
                yield found("duplicate-id", place, actual=quoted(call.call_id), seq=seq)
            elif profile.call_id.fit(call.call_id) != call.call_id:
                rule = _told(profile.call_id)
                yield found("bad-id", place, limit=rule, actual=quoted(call.call_id), seq=seq)
            if profile.tool_name.fit(call.name) != call.name:
                rule = _told(profile.tool_name)
                yield found("bad-name", place, limit=rule, actual=quoted(call.name), seq=seq)
            used.add(call.call_id)


def _told(rule: IdRule) -> str:
    return f"up to {rule.most_chars} of {rule.characters}"


def _of_order(turns: Sequence[ComposedTurn]) -> Iterator[Finding]:
    """Yield results that stand before their calls; those behind are in the account of the loss."""
    called: dict[str, int] = {}
    for index, turn in enumerate(turns):
        for call in turn.calls:
            called.setdefault(call.call_id, index)
    for index, turn in enumerate(turns):
        if turn.role == "tool" and called.get(turn.call_id, -1) > index:
            yield found("wrong-order", turn.origin, actual=quoted(turn.call_id), seq=turn.seq)


def _of_items(turn: ComposedTurn) -> Iterator[Finding]:
    if not turn.items and not turn.calls and turn.role != "tool":
        yield found("empty-content", turn.origin, seq=turn.seq)
    for item in turn.items:
        if isinstance(item, TextItem) and not item.text.strip():
            # Beside calls, and as a result, SDKs write an empty text where nothing is said.
            is_block = item.pointer.rpartition("/")[2].isdigit()
            if is_block or not (turn.calls or turn.role == "tool"):
                yield found("empty-content", item.pointer, seq=turn.seq)
        elif isinstance(item, Medium):
            if item.is_in_text:
                yield found("base64-in-text", item.pointer, actual=item.mime_type, seq=turn.seq)
            if said := item.said_type:
                yield found(
                    "mislabelled-media",
                    item.pointer,
                    limit=item.mime_type,
                    actual=quoted(said),
                    seq=turn.seq,
                )
