"""Properties of the history of every agent, for all targets, budgets and frontiers.

- A rendering is within its budget, and uses at least half of it if more could be rendered
  (`check_budget`).
- It satisfies the types of its provider and the rules of order (`check_messages`).
- Every entry is rendered whole or covered by the account of the loss (`check_account`).
- Every handle in it can be resolved (`check_handles`).
- After an append, the hashes give the length of the unchanged prefix (`check_prefix`).
- A frontier never moves back, and a moved frontier is stable (`check_frontier`).
- A budget is refused only if the system message or the lines take too much of it, and
  the history fits the budget that the error names (`check_refusal`).

The long form tries 10,000 histories.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

import pytest

from packages.dialects.tests.context.agent_histories import PAGES, AgentHistory, agent_history
from packages.dialects.tests.targets.histories import (
    Rendered,
    resolve_turns,
    strings_of,
    write_messages,
)
from pagefault_dialects.context.cut_marks import parse_argument_handle
from pagefault_dialects.context.entry_refs import argument_text
from pagefault_dialects.context.eviction import EvictableTurns, prepare_eviction
from pagefault_dialects.context.load_meter import LoadMeter
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    MediaItem,
    Medium,
    StoredBytes,
    TextItem,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.rendered_documents import build_session_document, count_unchanged_messages
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.sequence_rules import find_sequence_faults
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.pairing import find_orphans, pair_calls
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.providers import CHECKS

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

CASES = times(105, 10_000)
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000, 20_000, 60_000)
LINES = 1_000
"""The most tokens that the lines of such a history take if everything else is evicted."""
RENDERINGS = 6
LEVELS = [name for name in Frontier.model_fields if name not in ("orphans", "floor")]

_NAMED_ENTRY = re.compile(r"@entry:(\d+)(/arguments/\S+)?")
_NAMED_ENTRIES = re.compile(r"@entries:(\d+)-(\d+)")
_NAMED_BLOB = re.compile(r"@blob:([0-9a-f]{32})")
_PARTS = re.compile(r"(?:: |, )(the [a-z ]+|pinned pages) (\d+)")
_NAMED_PAGE = re.compile(r'page_fault\(\\?"([^"\\]+)\\?"')

TRIED: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def report_figures() -> Iterator[None]:
    yield
    tell(
        "Histories of agents, over all targets",
        f"{TRIED['histories']} histories, {TRIED['renderings']} renderings: 0 wrong",
    )


@dataclass(frozen=True)
class Rendering:
    """A rendering within a budget, and its moved frontier."""

    turns: Sequence[ComposedTurn]
    history: EvictableTurns
    resolved: ResolvedTurns
    rendered: Rendered
    frontier: Frontier
    hashes: Sequence[bytes]
    tokens: int
    open_calls: Sequence[str]


@dataclass(frozen=True)
class Case:
    """The options of the rendering after each append."""

    target: str
    query: RenderOptions
    pinned: Sequence[str]
    frontier: Frontier = NOTHING_EVICTED
    """The first frontier. A stored one may be at any entries."""

    def within(self, max_tokens: int) -> "Case":
        """Return this case with another budget."""
        return replace(self, query=replace(self.query, max_tokens=max_tokens))

    def render(self, turns: Sequence[ComposedTurn], frontier: Frontier) -> Rendering:
        """Return a rendering, with its frontier moved as far as needed."""
        profile = TARGETS[self.target]
        conversation = pair_calls(turns, pinned_results=frontier.orphans)
        history = prepare_eviction(conversation, profile, self.query, self.pinned)
        while True:
            resolved = resolve_turns(history.turns_at(frontier), self.target, self.query)
            further = next_frontier(history, frontier, resolved)
            if further == frontier:
                break
            frontier = further
        frontier = frontier.model_copy(update={"orphans": find_orphans(conversation)})
        document = build_session_document(resolved, profile, self.query, last_seq=0, since=0)
        tokens, open_calls = document.document["tokensEst"], document.document.get("openCalls", [])
        assert isinstance(tokens, int)
        assert isinstance(open_calls, list)
        return Rendering(
            turns,
            history,
            resolved,
            write_messages(resolved, self.target, self.query),
            frontier,
            document.hashes,
            tokens,
            [str(open_call) for open_call in open_calls],
        )


def case_of(seed: int, target: str) -> tuple[AgentHistory, Case, Sequence[int]]:
    """Return a history, its case, and the numbers of entries at which it is rendered."""
    history = agent_history(seed)
    random = Random(seed)  # noqa: S311 - not for secrets
    query = RenderOptions(
        max_tokens=random.choice(BUDGETS),
        evict_batch=random.choice([None, None, 0, 200]),
        adaptive=random.random() < 0.8,
        frontier="main",
    )
    many = len(history.turns)
    ends = sorted({many, *(random.randint(1, many) for _ in range(RENDERINGS - 1))})
    begins = NOTHING_EVICTED
    if random.random() < 0.3:
        positions = {name: random.choice([0, random.randint(0, ends[0])]) for name in LEVELS}
        begins = Frontier.model_validate(positions)
    return history, Case(target, query, history.pinned, begins), ends


def check_budget(case: Case, rendering: Rendering) -> None:
    """Check that half of the budget is used, unless one evicted step alone needs the other half."""
    most = case.query.max_tokens or 0
    assert rendering.tokens <= most
    codes = {item.code for item in rendering.resolved.loss}
    is_whole = codes.isdisjoint(("evicted", "folded"))
    if case.frontier != NOTHING_EVICTED:
        # The frontier may come from a smaller budget.
        return
    assert (
        is_whole
        or rendering.tokens >= most // 2
        or rendering.tokens + largest(case, rendering) >= most // 2
    )


def largest(case: Case, rendering: Rendering) -> int:
    """Return about how many tokens the largest step or message takes."""
    meter = LoadMeter(TARGETS[case.target])
    turns = rendering.history.turns
    return max(
        meter.measure_turns(turns[passage.start : passage.stop]).tokens
        for passage in rendering.history.passages
    )


def check_messages(case: Case, rendering: Rendering) -> None:
    messages = rendering.rendered.messages
    found = find_sequence_faults(messages, case.target, open_calls=rendering.open_calls)
    assert [(finding.rule, finding.pointer, finding.actual) for finding in found] == []
    if not rendering.open_calls:
        CHECKS[case.target](messages)
    folds = [
        passage
        for passage in rendering.history.passages_at(rendering.frontier)
        if passage.fold is not None
    ]
    assert all([turn.role for turn in fold.turns] == ["user"] for fold in folds)


def check_account(rendering: Rendering) -> None:
    """Check that each text of a history is rendered, or that the account has its entry."""
    rendered_text = strings_of(rendering.rendered.messages) + rendering.rendered.system
    attached = [
        (item.medium.seq or turn.seq, item.medium.pointer)
        for turn in rendering.resolved.turns
        for item in turn.items
        if isinstance(item, MediaItem)
    ]
    reported = {entry.seq for entry in rendering.resolved.loss}
    folds = [item for item in rendering.resolved.loss if item.code == "folded"]
    for turn in rendering.turns:
        seq = turn.seq or 0
        if seq in reported or any((f.from_seq or 0) <= seq <= (f.to_seq or 0) for f in folds):
            continue
        missing = [text for text in _texts(turn) if _mark(text) and text not in rendered_text]
        missing += [
            item.pointer
            for item in turn.items
            if isinstance(item, Medium) and (seq, item.pointer) not in attached
        ]
        assert not missing, (seq, [text[:80] for text in missing])


def _texts(turn: ComposedTurn) -> list[str]:
    items = [item.text for item in turn.items if isinstance(item, TextItem)]
    values = [strings_of(item.value) for item in turn.items if isinstance(item, DataItem)]
    calls = [strings_of(call.arguments) for call in turn.calls]
    return [*items, *(line for item in (*values, *calls) for line in item.splitlines())]


def _mark(text: str) -> bool:
    return text.startswith("<")


def check_handles(rendering: Rendering) -> None:
    last = len(rendering.turns)
    stored = {
        item.source.resource_id
        for turn in rendering.turns
        for item in turn.items
        if isinstance(item, Medium) and isinstance(item.source, StoredBytes)
    }
    rendered_text = strings_of(rendering.rendered.messages)
    for seq, arguments in _NAMED_ENTRY.findall(rendered_text):
        entry = [turn for turn in rendering.turns if turn.seq == int(seq)]
        assert entry, f"@entry:{seq}"
        if arguments:
            handle = parse_argument_handle(f"@entry:{seq}{arguments}")
            assert handle is not None
            assert argument_text(entry, handle)
    for first, until in _NAMED_ENTRIES.findall(rendered_text):
        assert 1 <= int(first) <= int(until) <= last
    assert {*_NAMED_BLOB.findall(rendered_text)} <= stored
    assert {*_NAMED_PAGE.findall(rendered_text)} <= {*PAGES}


def check_prefix(case: Case, old: Rendering, new: Rendering) -> None:
    """Check that the hashes give the length of the unchanged prefix."""
    pairs = zip(old.rendered.messages, new.rendered.messages, strict=False)
    equal = 0
    for one, other in pairs:
        if one != other:
            break
        equal += 1
    assert count_unchanged_messages(b"".join(old.hashes), new.hashes) == equal
    # A frontier that began here moves no further than the steps that were old already.
    is_own = case.frontier == NOTHING_EVICTED and new.frontier.floor == 0
    are_same = all(getattr(old.frontier, level) == getattr(new.frontier, level) for level in LEVELS)
    # An older rendering of a pinned page is evicted once there is a newer one.
    if is_own and are_same and not old.open_calls and not case.pinned:
        # If a target joins the turns of one side, the last message may grow.
        assert equal >= len(old.rendered.messages) - 1


def check_frontier(case: Case, old: Frontier, rendering: Rendering) -> None:
    assert all(
        getattr(rendering.frontier, level) >= getattr(old, level) for level in (*LEVELS, "floor")
    )
    again = case.render(rendering.turns, rendering.frontier)
    assert (again.frontier, again.rendered) == (rendering.frontier, rendering.rendered)


def check_refusal(case: Case, exc: InvalidPayloadError) -> int:
    """Check the error and return the budget that it names."""
    assert exc.problem_code == "budget-too-small", exc.detail
    [fault] = exc.faults
    least, most = int(fault.detail.split()[2]), case.query.max_tokens or 0
    assert least > most, exc.detail
    parts = {name: int(tokens) for name, tokens in _PARTS.findall(exc.detail)}
    is_refused = parts.get("the system message", 0) > most // 2 or most <= LINES
    assert is_refused, exc.detail
    return least


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_history_of_an_agent_is_rendered_within_every_budget(target: str) -> None:
    targets = [*TARGETS]
    for seed in range(targets.index(target), CASES, len(targets)):
        try:
            check_case(seed, target)
        except Exception as exc:
            exc.add_note(f"seed {seed}, target {target}")
            raise


def check_case(seed: int, target: str) -> None:
    history, case, ends = case_of(seed, target)
    TRIED["histories"] += 1
    frontier, renderings = case.frontier, list[Rendering]()
    for end in ends:
        turns = history.turns[:end]
        try:
            rendering = case.render(turns, frontier)
        except InvalidPayloadError as exc:
            case = case.within(check_refusal(case, exc))
            rendering = case.render(turns, frontier)
        TRIED["renderings"] += 1
        check_budget(case, rendering)
        check_messages(case, rendering)
        check_account(rendering)
        check_handles(rendering)
        check_frontier(case, frontier, rendering)
        renderings.append(rendering)
        frontier = rendering.frontier
    for old, new in pairwise(renderings):
        check_prefix(case, old, new)
