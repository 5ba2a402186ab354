"""What holds for the history of every agent, target, budget and frontier.

- A rendering is within its budget, and uses at least half of it where there is more to show
  (`check_budget`).
- It is valid by the types of its provider and by the rules of its order (`check_messages`).
- Every entry is shown, or inside an entry of the account of the loss (`check_account`).
- Every handle in it leads to something (`check_handles`).
- After an append, the hashes say how many of the old messages stand in front (`check_prefix`).
- A frontier never goes back, and needs no further move where it came to (`check_frontier`).
- A budget is refused only where the system or lines take too much of it, and
  with the one that is named it fits (`check_refusal`).

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
from packages.dialects.tests.targets.histories import Rendered, settle, strings_of, written
from pagefault_dialects.context.cut_marks import parse_argument_handle
from pagefault_dialects.context.entry_refs import argument_text
from pagefault_dialects.context.eviction import EvictableTurns, history_of
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.context.weighing import Weighing
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
from pagefault_dialects.rendered_documents import equal_hashes, session_document
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.sequence_rules import sequence_faults
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.pairing import orphans_in, paired
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.providers import CHECKS

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

CASES = times(300, 10_000)
BUDGETS = (500, 1_000, 2_000, 4_000, 8_000, 20_000, 60_000)
LINES = 1_000
"""What the lines of any of these histories may take, where all else is left out."""
RENDERINGS = 6
LEVELS = [name for name in Frontier.model_fields if name not in ("orphans", "floor")]

_NAMED_ENTRY = re.compile(r"@entry:(\d+)(/arguments/\S+)?")
_NAMED_ENTRIES = re.compile(r"@entries:(\d+)-(\d+)")
_NAMED_BLOB = re.compile(r"@blob:([0-9a-f]{32})")
_PARTS = re.compile(r"(?:: |, )(the [a-z ]+|pinned pages) (\d+)")
_NAMED_PAGE = re.compile(r'page_fault\(\\?"([^"\\]+)\\?"')

TRIED: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def figures() -> Iterator[None]:
    yield
    tell(
        "Histories of agents, over all targets",
        f"{TRIED['histories']} histories, {TRIED['renderings']} renderings: 0 wrong",
    )


@dataclass(frozen=True)
class Shown:
    """A rendering within a budget, and what became of its frontier."""

    turns: Sequence[ComposedTurn]
    history: EvictableTurns
    settled: ResolvedTurns
    rendered: Rendered
    frontier: Frontier
    hashes: Sequence[bytes]
    tokens: int
    open_calls: Sequence[str]


@dataclass(frozen=True)
class Case:
    """What is asked for at every turn."""

    target: str
    query: RenderOptions
    pinned: Sequence[str]
    frontier: Frontier = NOTHING_EVICTED
    """Where it begins: a stored one may be at any entries."""

    def within(self, most_tokens: int) -> "Case":
        """Return the same within another budget."""
        return replace(self, query=replace(self.query, max_tokens=most_tokens))

    def show(self, turns: Sequence[ComposedTurn], frontier: Frontier) -> Shown:
        """Return a rendering, with its frontier moved as far as it has to be."""
        profile = TARGETS[self.target]
        conversation = paired(turns, kept=frontier.orphans)
        history = history_of(conversation, profile, self.query, self.pinned)
        while True:
            settled = settle(history.turns_at(frontier), self.target, self.query)
            further = next_frontier(history, frontier, settled)
            if further == frontier:
                break
            frontier = further
        frontier = frontier.model_copy(update={"orphans": orphans_in(conversation)})
        document = session_document(settled, profile, self.query, last_seq=0, since=0)
        tokens, open_calls = document.answer["tokensEst"], document.answer.get("openCalls", [])
        assert isinstance(tokens, int)
        assert isinstance(open_calls, list)
        return Shown(
            turns,
            history,
            settled,
            written(settled, self.target, self.query),
            frontier,
            document.hashes,
            tokens,
            [str(each) for each in open_calls],
        )


def case_of(seed: int, target: str) -> tuple[AgentHistory, Case, Sequence[int]]:
    """Return a history, what is asked for, and after how many entries."""
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
        places = {name: random.choice([0, random.randint(0, ends[0])]) for name in LEVELS}
        begins = Frontier.model_validate(places)
    return history, Case(target, query, history.pinned, begins), ends


def check_budget(case: Case, shown: Shown) -> None:
    """What is shown takes half of the budget; or what gave way was more than half by itself."""
    most = case.query.max_tokens or 0
    assert shown.tokens <= most
    codes = {each.code for each in shown.settled.loss}
    is_whole = codes.isdisjoint(("evicted", "folded"))
    if case.frontier != NOTHING_EVICTED:
        # It may have been made by a smaller budget.
        return
    assert is_whole or shown.tokens >= most // 2 or shown.tokens + largest(case, shown) >= most // 2


def largest(case: Case, shown: Shown) -> int:
    """Return about what the largest step or message takes, whole."""
    weighing = Weighing(TARGETS[case.target])
    turns = shown.history.turns
    return max(
        weighing.turns(turns[each.start : each.stop]).tokens for each in shown.history.passages
    )


def check_messages(case: Case, shown: Shown) -> None:
    messages = shown.rendered.messages
    found = sequence_faults(messages, case.target, open_calls=shown.open_calls)
    assert [(each.rule, each.pointer, each.actual) for each in found] == []
    if not shown.open_calls:
        CHECKS[case.target](messages)
    folds = [each for each in shown.history.passages_at(shown.frontier) if each.fold is not None]
    assert all([turn.role for turn in each.turns] == ["user"] for each in folds)


def check_account(shown: Shown) -> None:
    """Everything that a history says stands there whole, or its entry is in the account."""
    said = strings_of(shown.rendered.messages) + shown.rendered.system
    attached = [
        (item.medium.seq or turn.seq, item.medium.pointer)
        for turn in shown.settled.turns
        for item in turn.items
        if isinstance(item, MediaItem)
    ]
    told = {each.seq for each in shown.settled.loss}
    folds = [each for each in shown.settled.loss if each.code == "folded"]
    for turn in shown.turns:
        seq = turn.seq or 0
        if seq in told or any((f.from_seq or 0) <= seq <= (f.to_seq or 0) for f in folds):
            continue
        missing = [text for text in _texts(turn) if _mark(text) and not _stands_in(text, said)]
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
    return [*items, *(line for each in (*values, *calls) for line in each.splitlines())]


def _mark(text: str) -> bool:
    return text.startswith("<")


def _stands_in(text: str, said: str) -> bool:
    return text in said


def check_handles(shown: Shown) -> None:
    last = len(shown.turns)
    stored = {
        item.source.resource_id
        for turn in shown.turns
        for item in turn.items
        if isinstance(item, Medium) and isinstance(item.source, StoredBytes)
    }
    said = strings_of(shown.rendered.messages)
    for seq, arguments in _NAMED_ENTRY.findall(said):
        entry = [turn for turn in shown.turns if turn.seq == int(seq)]
        assert entry, f"@entry:{seq}"
        if arguments:
            handle = parse_argument_handle(f"@entry:{seq}{arguments}")
            assert handle is not None
            assert argument_text(entry, handle)
    for first, until in _NAMED_ENTRIES.findall(said):
        assert 1 <= int(first) <= int(until) <= last
    assert {*_NAMED_BLOB.findall(said)} <= stored
    assert {*_NAMED_PAGE.findall(said)} <= {*PAGES}


def check_prefix(case: Case, old: Shown, new: Shown) -> None:
    """The hashes say how much of what was sent stands in front, unchanged."""
    pairs = zip(old.rendered.messages, new.rendered.messages, strict=False)
    equal = 0
    for one, other in pairs:
        if one != other:
            break
        equal += 1
    assert equal_hashes(b"".join(old.hashes), new.hashes) == equal
    # One that was made here comes no further than the steps that were old already.
    is_own = case.frontier == NOTHING_EVICTED and new.frontier.floor == 0
    are_same = all(getattr(old.frontier, each) == getattr(new.frontier, each) for each in LEVELS)
    # An older showing of a pinned page ages once there is a newer one.
    if is_own and are_same and not old.open_calls and not case.pinned:
        # Where a target has each side speak once, more may follow in the last one.
        assert equal >= len(old.rendered.messages) - 1


def check_frontier(case: Case, old: Frontier, shown: Shown) -> None:
    assert all(getattr(shown.frontier, each) >= getattr(old, each) for each in (*LEVELS, "floor"))
    again = case.show(shown.turns, shown.frontier)
    assert (again.frontier, again.rendered) == (shown.frontier, shown.rendered)


def check_refusal(case: Case, exc: InvalidPayloadError) -> int:
    """Return a budget that is large enough."""
    assert exc.problem_code == "budget-too-small", exc.detail
    [fault] = exc.faults
    least, most = int(fault.detail.split()[2]), case.query.max_tokens or 0
    assert least > most, exc.detail
    parts = {name: int(tokens) for name, tokens in _PARTS.findall(exc.detail)}
    is_refused = parts.get("the system message", 0) > most // 2 or most <= LINES
    assert is_refused, exc.detail
    return least


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
    frontier, renderings = case.frontier, list[Shown]()
    for end in ends:
        turns = history.turns[:end]
        try:
            shown = case.show(turns, frontier)
        except InvalidPayloadError as exc:
            case = case.within(check_refusal(case, exc))
            shown = case.show(turns, frontier)
        TRIED["renderings"] += 1
        check_budget(case, shown)
        check_messages(case, shown)
        check_account(shown)
        check_handles(shown)
        check_frontier(case, frontier, shown)
        renderings.append(shown)
        frontier = shown.frontier
    for old, new in pairwise(renderings):
        check_prefix(case, old, new)
