"""Diagnosis and repair agree about generated histories of every target."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.targets.histories import histories
from pagefault_dialects import heal, render
from pagefault_dialects.dialects.foreign_message import DIALECTS, Dialect
from pagefault_dialects.messages.diagnosis import diagnose, has_target_form
from pagefault_dialects.messages.histories import (
    find_body_dialect,
    list_sent_messages,
)
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.conversation import ComposedTurn, Medium, StoredBytes
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.rendering import RenderedMessages
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.pairing import pair_calls
from tests.faults.lengths import TIMEOUT_SECONDS, times
from tests.kit.media import b64, pdf
from tests.providers import CHECKS

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

Json = Any

# Of each property, over all targets.
EXAMPLES = times(300, 20_000) // len(DIALECTS)

_EVERY = pytest.mark.parametrize("target", DIALECTS)
_BY_DIALECT = {"gemini": "contents", "openai-responses": "input"}
_ODD: Sequence[Json] = (None, "", " ", [], {}, "{", "{}", "end ", 7, ["x"], {"a": 1})


def wire(turns: Sequence[ComposedTurn], target: str) -> RenderedMessages:
    """Return the rendering of recorded turns."""
    kept = [replace(turn, items=tuple(filter(_is_at_hand, turn.items))) for turn in turns]
    return render(pair_calls(kept), target)


def _is_at_hand(item: object) -> bool:
    return not (isinstance(item, Medium) and isinstance(item.source, StoredBytes))


def body(rendered: RenderedMessages) -> dict[str, Json]:
    """Return a request with a rendering."""
    system = rendered.system
    envelope: dict[str, Json] = {}
    if system and rendered.target == "bedrock":
        envelope = {"system": [{"text": system}]}
    elif system:
        envelope = {"system": system, "max_tokens": 9}
    name = _BY_DIALECT.get(rendered.target, "messages")
    return {**envelope, name: rendered.messages}


def examine(sent: dict[str, Json], target: str) -> tuple[list[Finding], bool]:
    """Return the findings of a body, and whether it is in the dialect of the target."""
    history = read_messages(sent, closes=True)
    main = find_body_dialect(sent, history.messages)
    loss = render(history.turns, target).loss
    found = diagnose(history, TARGETS[target], loss, main, sent=list_sent_messages(sent))
    return found, has_target_form(history, target, main)


@pytest.mark.slow
@_EVERY
@given(turns=histories())
@settings(max_examples=EXAMPLES)
def test_rendering_is_healthy_but_for_open_calls(
    target: Dialect, turns: tuple[ComposedTurn, ...]
) -> None:
    rendered = wire(turns, target)
    history = read_messages(body(rendered), closes=True)
    loss = render(history.turns, target).loss
    found = diagnose(history, TARGETS[target], loss, target, sent=rendered.messages)
    # A result without a call may follow open calls.
    expected_rules = {"split-calls"} if rendered.open_calls else set()
    rules = {finding.rule for finding in found} - expected_rules
    assert rules <= {"no-answer"}, [
        (finding.rule, finding.pointer, finding.actual) for finding in found
    ]
    unanswered = [finding.call_id for finding in found if finding.rule == "no-answer"]
    assert unanswered == [*rendered.open_calls]


@st.composite
def changes(draw: st.DrawFn, sent: dict[str, Json]) -> dict[str, Json]:
    """Return a body in which members are removed, repeated, moved or replaced."""
    changed = deepcopy(sent)
    for _ in range(draw(st.integers(1, 3))):
        parents = [*_containers(changed)]
        parent = draw(st.sampled_from(parents))
        if not parent:
            continue
        keys = [*parent] if isinstance(parent, dict) else [*range(len(parent))]
        key = draw(st.sampled_from(keys))
        match draw(st.sampled_from(["drop", "odd", "again", "swap"])):
            case "drop":
                del parent[key]
            case "odd":
                parent[key] = deepcopy(draw(st.sampled_from(_ODD)))
            case "again" if isinstance(parent, list):
                parent.insert(draw(st.integers(0, len(parent))), deepcopy(parent[key]))
            case _:
                other = draw(st.sampled_from(keys))
                parent[key], parent[other] = parent[other], parent[key]
    return changed


def _containers(value: Json) -> list[Json]:
    """Return the messages and all containers inside of them."""
    found: list[Json] = []
    waiting: list[Json] = [item for item in value.values() if isinstance(item, list)]
    while waiting:
        node = waiting.pop()
        found.append(node)
        members = node.values() if isinstance(node, dict) else node
        waiting += (member for member in members if isinstance(member, list | dict))
    return found or [value]


@pytest.mark.slow
@_EVERY
@given(data=st.data())
@settings(max_examples=EXAMPLES)
def test_repair_keeps_a_history_without_findings_and_changes_others(
    target: Dialect, data: st.DataObject
) -> None:
    sound = body(heal(body(wire(data.draw(histories()), target)), target))
    sent = data.draw(changes(sound))
    if not any(isinstance(sent.get(name), list) for name in ("messages", "input", "contents")):
        return
    name = _BY_DIALECT.get(target, "messages")
    found, is_own = examine(sent, target)
    healed = heal(sent, target)
    if is_own:
        rules = [(finding.rule, finding.pointer, finding.actual) for finding in found]
        assert (not found) == (healed.messages == sent.get(name)), (rules, healed.messages)
    if found or not is_own:
        CHECKS[target](cast("list[dict[str, Any]]", healed.messages))
    again = heal(body(healed), target)
    assert again.messages == healed.messages


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "", "media_type": "application/pdf", "data": b64(pdf())},
                    "title": "Log",
                }
            ],
        },
        {
            "role": "user",
            "content": [{"type": "use_1", "tool_use_id": "tool_result", "content": []}],
        },
        {"role": "assistant", "content": [{"type": "use_1", "id": "tool_use", "name": "f"}]},
        {"role": "assistant", "content": [{"type": "text", "text": " "}, {"type": "txet", "a": 1}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Go on."},
                {"type": "tool_result", "tool_use_id": "use_1", "content": [{"type": "txet"}]},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "document",
                    "source": {"type": "content", "content": [{"type": "txet"}]},
                    "title": "Log",
                },
                {"type": "text", "text": " "},
            ],
        },
    ],
)
def test_repaired_block_is_valid_for_its_provider(message: dict[str, Json]) -> None:
    call = {"type": "tool_use", "id": "use_1", "name": "f", "input": {}}
    question = {"role": "user", "content": "Look."}
    history = [question, {"role": "assistant", "content": [call]}, message, question]
    healed = heal({"messages": history}, "anthropic")
    CHECKS["anthropic"](cast("list[dict[str, Any]]", healed.messages))
