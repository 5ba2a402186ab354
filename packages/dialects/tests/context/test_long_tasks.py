"""Tasks of a thousand steps, rendered within a budget."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.context.test_frontiers import (
    EVERY,
    PLACES,
    RenderRequest,
    fit_turns,
    render_turns,
)
from packages.dialects.tests.targets.composed import medium
from pagefault_dialects.context.eviction import prepare_eviction
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.reading import read_messages
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    ProviderBlock,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.rendering import RenderedMessages, render
from pagefault_dialects.targets.sequence_rules import find_sequence_faults
from pagefault_dialects.targets.table import TARGETS
from tests.faults.lengths import TIMEOUT_SECONDS, times
from tests.kit import media

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

EXAMPLES = times(60, 10_000) // len(TARGETS) + 1
PICTURE = media.png(8, 6)
DIGEST = hashlib.sha256(PICTURE).hexdigest()
WORDS = "The quick brown fox jumps over the lazy dog. "
CALL = "A call of about sixty tokens, with its answer: "


class History:
    """A history to which messages and steps are appended."""

    def __init__(self, first: str = "Begin.") -> None:
        self.turns: list[ComposedTurn] = []
        if first:
            self.say("user", first)

    def say(self, role: str, *items: str | Item) -> None:
        parts = tuple(
            TextItem("/content", item) if isinstance(item, str) else item for item in items
        )
        self._add(role, parts)

    def step(self, arguments: str, *results: str | Item, names: Sequence[str] = ("bash",)) -> None:
        seq = len(self.turns) + 1
        calls = tuple(
            TurnCall(f"c{seq}.{at}", name, {"path": "a.txt", "content": arguments})
            for at, name in enumerate(names)
        )
        self._add("assistant", (), calls=calls)
        items = [
            TextItem("/parts/0", result) if isinstance(result, str) else result
            for result in results
        ]
        for call in calls:
            self._add("tool", tuple(items), call_id=call.call_id, tool_name=call.name)

    def _add(self, role: str, items: tuple[Item, ...], **more: object) -> None:
        seq = len(self.turns) + 1
        origin = f"/api/sessions/s/messages/{seq}"
        self.turns.append(Turn(role, items, origin, seq, **more))  # type: ignore[arg-type]


def render_within(history: History, target: str, most: int) -> RenderedMessages:
    found = render(history.turns, target, RenderOptions(max_tokens=most))
    assert found.tokens is not None
    assert found.tokens <= most
    assert not [*find_sequence_faults(found.messages, target, open_calls=found.open_calls)]
    return found


def thousand_calls() -> History:
    history = History()
    for number in range(1_000):
        history.step(
            f"{CALL}{number}", f"Done with {number}.", names=[("bash", "look")[number % 2]]
        )
    return history


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("most", [4_000, 20_000])
def test_thousand_calls_of_one_turn_fit(target: str, most: int) -> None:
    found = render_within(thousand_calls(), target, most)
    assert (found.tokens or 0) > most * 3 // 4
    [entry] = found.loss
    assert (entry.code, entry.from_seq) == ("folded", 2)
    assert entry.count == ((entry.to_seq or 0) - 1) // 2
    calls = (entry.count or 0) // 2
    tools = (
        f"bash {calls}, look {calls}" if not (entry.count or 0) % 2 else f"bash {calls + 1}, look"
    )
    assert f"Steps 1 to {entry.count}: {tools}" in json.dumps(found.messages)


@EVERY
def test_long_writes_fit_with_the_beginning_of_each(target: str) -> None:
    history = History()
    for number in range(12):
        history.step(f"{number} " + "x = 1\n" * 2_000, "Written.", names=["write_file"])
    found = render_within(history, target, 8_000)
    text = json.dumps(found.messages)
    for seq in range(2, 25, 2):
        assert f"read_text @entry:{seq}/arguments/0/content shows all of it" in text


@pytest.mark.slow
@EVERY
def test_newest_fifteen_of_steps_of_three_hundred_tokens_have_their_results(target: str) -> None:
    history = History()
    for number in range(400):
        history.step(f"{CALL}{number}", f"result-{number} " + WORDS * 25)
    found = render_within(history, target, 20_000)
    text = json.dumps(found.messages)
    assert all(f"result-{number} " + WORDS * 25 in text for number in range(385, 400))


@EVERY
@pytest.mark.parametrize("most", [1_000, 8_000, 30_000])
def test_result_larger_than_the_budget_keeps_its_ends(target: str, most: int) -> None:
    history = History("Read the page.")
    for number in range(20):
        history.step(f"{CALL}{number}", WORDS * 8)
    history.step("all of it", "It begins. " + WORDS * 8_000 + "It ends.")
    found = render_within(history, target, most)
    text = json.dumps(found.messages)
    assert "It begins. The quick brown fox" in text
    assert 'read_text(\\"@entry:43\\") shows all of it' in text or "entry:43" in text
    assert "It ends." in text
    assert (found.tokens or 0) > most // 2


@EVERY
def test_messages_larger_than_the_budget_have_a_quarter_each(target: str) -> None:
    history = History("The task. " + WORDS * 2_000)
    history.step("a", "b")
    history.say("user", "The newest. " + WORDS * 2_000)
    history.step("a", "The result.")
    found = render_within(history, target, 4_000)
    text = json.dumps(found.messages)
    assert "The task. The quick" in text
    assert "The newest. The quick" in text
    assert "The result." in text
    assert (found.tokens or 0) > 1_500


def test_last_message_of_the_assistant_has_the_rest_of_the_budget() -> None:
    history = History("Hello.")
    history.say("assistant", WORDS * 3_000)
    found = render_within(history, "anthropic", 2_000)
    assert (found.tokens or 0) > 1_000


def test_message_that_was_shortened_stays_so_when_it_is_no_longer_the_newest() -> None:
    history = History("Begin.")
    history.step("a", "b")
    history.say("user", WORDS * 2_000)
    request = RenderRequest("anthropic", RenderOptions(max_tokens=4_000, frontier="main"), ())
    before = render_turns(history.turns, request, NOTHING_EVICTED)
    assert before.frontier.floor == 4
    history.say("user", "And then?")
    history.step("a", "b")
    after = render_turns(history.turns, request, before.frontier)
    last_message = before.rendered.messages[-1]
    assert last_message in after.rendered.messages
    assert after.rendered.messages[: len(before.rendered.messages)] == before.rendered.messages


def test_history_that_the_assistant_begins_keeps_its_first_line() -> None:
    history = History("")
    for number in range(200):
        history.step(f"{CALL}{number}", "Done.")
    first = {
        "role": "user",
        "content": [{"type": "text", "text": "[The conversation begins here.]"}],
    }
    for most in (1_000, 100_000):
        assert render_within(history, "anthropic", most).messages[0] == first


def test_budget_below_the_lines_of_the_floor_is_refused_with_each_part() -> None:
    history = History(WORDS * 100)
    history.turns.insert(0, Turn("system", (TextItem("", "Be brief. " * 40),), "/", None))
    history.step(WORDS * 100, WORDS * 100)
    with pytest.raises(InvalidPayloadError) as refused:
        render(history.turns, "anthropic", RenderOptions(max_tokens=100))
    assert refused.value.problem_code == "budget-too-small"
    for part in ("the system message 1", "the first user message", "the newest step"):
        assert part in str(refused.value)
    assert "pinned pages " not in str(refused.value)
    [fault] = refused.value.faults
    render_within(history, "anthropic", int(fault.detail.split()[2]))


def test_partly_folded_message_is_rewritten() -> None:
    messages: list[JsonValue] = [{"role": "user", "content": "Begin."}]
    for number in range(40):
        call = {"type": "tool_use", "id": f"t{number}", "name": "bash", "input": {"at": number}}
        messages.append({"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": WORDS * 4}
        spoken = {
            "type": "text",
            "text": f"Go on {number}.",
            "cache_control": {"type": "ephemeral"},
        }
        messages.append({"role": "user", "content": [result, spoken]})
    turns = read_messages({"messages": messages}).turns
    found = render(turns, "anthropic", RenderOptions(max_tokens=2_600))
    assert not find_sequence_faults(found.messages, "anthropic")
    assert found.messages[-2:] == messages[-2:]
    [first, fold, user_message, *_] = found.messages
    assert first == messages[0]
    assert "Step 1: bash 1." in json.dumps(fold)
    assert "@entr" not in json.dumps(fold)
    assert "Go on 0." in json.dumps(user_message)
    assert "tool_result" not in json.dumps(user_message)


@EVERY
@pytest.mark.parametrize(
    ("arguments", "is_signed"),
    [({"content": WORDS * 800}, True), ({f"{at}": WORDS * 6 for at in range(500)}, False)],
    ids=["signed", "many"],
)
def test_call_larger_than_the_budget_is_cut_at_the_floor(
    target: str, arguments: dict[str, JsonValue], is_signed: bool
) -> None:
    history = History()
    history.step("", "Done.")
    call = replace(history.turns[1].calls[0], arguments=arguments)
    thoughts = (_THOUGHT,) if is_signed else ()
    history.turns[1] = replace(history.turns[1], calls=(call,), items=thoughts)
    found = render_within(history, target, 4_000)
    assert "read_text @entry:2/arguments/0" in json.dumps(found.messages)
    assert "evicted" in {item.code for item in found.loss}


def test_stored_frontier_without_folds_is_read() -> None:
    stored = (
        '{"toolMedia":9,"saidMedia":0,"toolTexts":7,"toolResults":5,"saidTexts":0,"recalled":0}'
    )
    frontier = Frontier.model_validate_json(stored)
    assert (frontier.tool_results, frontier.folded, frontier.floor) == (5, 0, 0)
    history = History()
    for _ in range(6):
        history.step("a", WORDS * 60)
    query = RenderOptions(max_tokens=9_000, frontier="main")
    passages = prepare_eviction(history.turns, TARGETS["text"], query).passages_at(frontier)
    assert [(passage.levels.results, passage.levels.texts) for passage in passages] == [
        (False, False),
        *[(True, True)] * 2,
        (False, True),
        *[(False, False)] * 3,
    ]


_texts = st.sampled_from([WORDS, WORDS * 10, WORDS * 60, WORDS * 400])
_picture = st.builds(
    lambda side, digit: replace(
        medium(hints=MediaHints(side, side), source=StoredBytes(f"{digit}" * 32, DIGEST)),
        pointer=f"/parts/{digit}",
        size_bytes=len(PICTURE),
    ),
    st.sampled_from([80, 900]),
    st.integers(0, 3),
)
_THOUGHT = ProviderBlock(
    "/content/0",
    {"anthropic": {"type": "thinking", "thinking": "So.", "signature": "c2ln"}},
    "thought",
    "reasoning",
    "Only its provider reads it.",
)


@st.composite
def tasks(draw: st.DrawFn) -> list[ComposedTurn]:
    """Return a task: long arguments, pictures, parallel calls, late and missing results."""
    history = History(draw(st.sampled_from(["Begin.", WORDS * 30, ""])))
    late: list[ComposedTurn] = []
    for _ in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["step"] * 6 + ["user", "say", "system", "late", "missing"]))
        match kind:
            case "user" | "system":
                history.say(kind, draw(_texts))
            case "say":
                history.say("assistant", draw(_texts))
            case _:
                names = draw(st.sampled_from([("bash",), ("bash", "look"), ("write_file",) * 3]))
                results = draw(st.lists(_texts | _picture, min_size=1, max_size=2))
                begin = len(history.turns)
                history.step(draw(_texts), *results, names=names)
                if draw(st.booleans()) and kind == "step":
                    signed = replace(history.turns[begin], items=(_THOUGHT,))
                    history.turns[begin] = signed
                if kind in ("late", "missing"):
                    late += [history.turns.pop()] if kind == "late" else []
                    del history.turns[begin + 1 :]
                    history.say("user", "Go on.")
        arrives: bool = draw(st.booleans())
        if late and arrives:
            answer, seq = late.pop(), len(history.turns) + 1
            origin = f"/api/sessions/s/messages/{seq}"
            history.turns.append(replace(answer, seq=seq, origin=origin))
    return history.turns


@pytest.mark.slow
@EVERY
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    turns=tasks(),
    most=st.sampled_from([600, 1_500, 4_000, 12_000]),
    batch=st.sampled_from([None, 0]),
)
def test_task_fits_at_every_turn_and_is_valid(
    target: str, turns: list[ComposedTurn], most: int, batch: int | None
) -> None:
    query = RenderOptions(max_tokens=most, evict_batch=batch, frontier="main")
    request, frontier = RenderRequest(target, query, ()), NOTHING_EVICTED
    for end in range(1, len(turns) + 1):
        try:
            rendering = render_turns(turns[:end], request, frontier)
        except InvalidPayloadError as exc:
            least = int(exc.faults[0].detail.split()[2])
            assert least > (request.query.max_tokens or 0)
            request = replace(request, query=replace(request.query, max_tokens=least))
            rendering = render_turns(turns[:end], request, frontier)
        assert rendering.tokens <= (request.query.max_tokens or 0)
        assert all(
            getattr(rendering.frontier, position) >= getattr(frontier, position)
            for position in PLACES
        )
        levels = ("folded", "arguments", "tool_results", "tool_texts", "tool_media")
        positions = [getattr(rendering.frontier, level) for level in levels]
        assert positions == sorted(positions)
        resolved, _ = fit_turns(turns[:end], request, rendering.frontier)
        answered = {turn.call_id for turn in resolved.turns}
        calls = (call for turn in resolved.turns for call in turn.calls)
        waiting = [
            TARGETS[target].call_id.fit(call.call_id)
            for call in calls
            if call.call_id not in answered
        ]
        assert not [*find_sequence_faults(rendering.rendered.messages, target, open_calls=waiting)]
        folds = [item for item in resolved.loss if item.code == "folded"]
        for turn in turns[:end]:
            assert turn.seq is not None
            is_folded = any(
                (fold.from_seq or 0) <= turn.seq <= (fold.to_seq or 0) for fold in folds
            )
            assert is_folded or any(entry.seq == turn.seq for entry in resolved.turns)
        frontier = rendering.frontier
