"""Properties of every history that is rendered turn by turn with a frontier, for each target.

The long form tries 20,000 histories.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.context.long_histories import PAGES, long_histories
from packages.dialects.tests.targets.histories import Rendered, resolve_turns, write_messages
from pagefault_dialects.context.eviction import EvictableTurns, prepare_eviction
from pagefault_dialects.context.token_budget import next_frontier
from pagefault_dialects.errors import InvalidPayloadError
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    DataItem,
    Medium,
    Omission,
    StoredBytes,
    SyntheticNote,
    TextItem,
)
from pagefault_dialects.model.frontier import NOTHING_EVICTED, Frontier
from pagefault_dialects.model.loss import LossEntry
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.rendered_documents import build_session_document, count_unchanged_messages
from pagefault_dialects.targets.ladder import ResolvedTurns
from pagefault_dialects.targets.table import TARGETS
from pagefault_dialects.turns.pairing import find_orphans, pair_calls
from tests.faults.lengths import TIMEOUT_SECONDS, tell, times
from tests.providers import CHECKS

pytestmark = pytest.mark.timeout(TIMEOUT_SECONDS)

EVERY = pytest.mark.parametrize("target", TARGETS)
EXAMPLES = times(165, 20_000) // len(TARGETS) + 1

MAX_IN_A_BATCH = 4
PLACES = [name for name in Frontier.model_fields if name != "orphans"]


TRIED: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def report_figures() -> Iterator[None]:
    yield
    figures = f"{TRIED['histories']} histories, {TRIED['turns']} turns: 0 wrong"
    tell("Histories with a frontier, over all targets", figures)


@dataclass(frozen=True)
class Rendering:
    """A rendering and its moved frontier."""

    rendered: Rendered
    frontier: Frontier
    hashes: list[bytes]
    tokens: int
    is_open: bool


@dataclass(frozen=True)
class RenderRequest:
    """The options of the rendering after each turn."""

    target: str
    query: RenderOptions
    pinned: Collection[str]


def fit_turns(
    turns: Sequence[ComposedTurn], request: RenderRequest, frontier: Frontier
) -> tuple[ResolvedTurns, Frontier]:
    """Return turns that fit, and the frontier that they needed."""
    profile, query = TARGETS[request.target], request.query
    conversation = pair_calls(turns, pinned_results=frontier.orphans)
    history = prepare_eviction(conversation, profile, query, request.pinned)
    while True:
        resolved = resolve_turns(history.turns_at(frontier), request.target, query)
        further = next_frontier(history, frontier, resolved)
        if further == frontier:
            orphans = find_orphans(conversation)
            check_account(history, frontier, resolved.loss)
            return resolved, frontier.model_copy(update={"orphans": orphans})
        frontier = further


def render_turns(
    turns: Sequence[ComposedTurn], request: RenderRequest, frontier: Frontier
) -> Rendering:
    resolved, moved_to = fit_turns(turns, request, frontier)
    document = build_session_document(
        resolved, TARGETS[request.target], request.query, last_seq=0, since=0
    )
    tokens = document.document["tokensEst"]
    assert isinstance(tokens, int)
    rendered = write_messages(resolved, request.target, request.query)
    called = {call.call_id for turn in resolved.turns for call in turn.calls}
    is_open = bool(called - {turn.call_id for turn in resolved.turns})
    return Rendering(rendered, moved_to, [*document.hashes], tokens, is_open)


def check_account(history: EvictableTurns, frontier: Frontier, loss: Sequence[LossEntry]) -> None:
    """Check that each evicted item is in the account once, with the request that reads it."""
    expected: list[tuple[object, ...]] = []
    for passage in history.passages_at(frontier):
        if (fold := passage.fold) is not None:
            read = f"GET /api/sessions/s/messages?after={(fold.from_seq or 0) - 1}"
            expected.append((fold.from_seq, fold.to_seq, "line", read))
            continue
        first = history.passages[passage.first]
        whole = history.turns[first.start : first.stop][-len(passage.turns) :]
        for turn, smaller in zip(whole, passage.turns, strict=True):
            expected += evicted_things(turn, smaller)
    reported = [
        (
            entry.seq,
            entry.pointer,
            entry.to if entry.to in ("line", "preview") else "",
            entry.restore,
        )
        if entry.code == "evicted"
        else (entry.from_seq, entry.to_seq, entry.to, entry.restore)
        for entry in loss
        if entry.code in ("evicted", "folded")
    ]
    assert sorted(reported, key=repr) == sorted(expected, key=repr)


def evicted_things(turn: ComposedTurn, smaller: ComposedTurn) -> Iterator[tuple[object, ...]]:
    read = f"GET /api/sessions/s/messages/{turn.seq}"
    if any(isinstance(item, Omission) and item.what == "result" for item in smaller.items):
        yield turn.seq, "", "line", read
        return
    for call in turn.calls:
        if call not in smaller.calls:
            seq, _ = call.entry_position or (turn.seq, 0)
            yield seq, "", "preview", f"GET /api/sessions/s/messages/{seq}"
    is_late = turn.role != smaller.role
    words = "".join(item.text for item in smaller.items if isinstance(item, TextItem))
    for item in turn.items:
        if item in smaller.items or (is_late and isinstance(item, SyntheticNote)):
            continue
        if is_late and isinstance(item, TextItem) and item.text in words:
            continue
        if isinstance(item, TextItem | DataItem):
            yield turn.seq, item.pointer, "preview", read
        elif isinstance(item, Medium) and isinstance(item.source, StoredBytes):
            yield (
                turn.seq,
                item.pointer,
                "",
                f"GET /api/resources/{item.source.resource_id}/content",
            )


def equal_beginning(old: Rendered, new: Rendered) -> int:
    pairs = zip(old.messages, new.messages, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(old.messages))


@pytest.mark.slow
@EVERY
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    turns=long_histories(),
    most=st.sampled_from([300, 800, 2_000, 6_000]),
    query=st.builds(
        RenderOptions,
        max_images=st.sampled_from([None, None, 2]),
        evict_batch=st.sampled_from([None, 0, 200]),
        adaptive=st.sampled_from([True, True, False]),
        frontier=st.just("main"),
    ),
    pinned=st.sampled_from([(), PAGES[:1]]),
)
def test_history_fits_at_every_turn_and_changes_only_when_its_frontier_moves(
    target: str,
    turns: tuple[ComposedTurn, ...],
    most: int,
    query: RenderOptions,
    pinned: Collection[str],
) -> None:
    request = RenderRequest(target, replace(query, max_tokens=most), pinned)
    frontier, renderings = NOTHING_EVICTED, []
    TRIED.update({"histories": 1, "turns": len(turns)})
    for end in range(1, len(turns) + 1):
        try:
            rendering = render_turns(turns[:end], request, frontier)
        except InvalidPayloadError as exc:
            # The error names the smallest limit. The history fits it.
            [fault] = exc.faults
            least = int(fault.detail.split()[2])
            assert least > (request.query.max_tokens or 0)
            request = replace(request, query=replace(request.query, max_tokens=least))
            rendering = render_turns(turns[:end], request, frontier)
        assert rendering.tokens <= (request.query.max_tokens or 0)
        assert all(
            getattr(rendering.frontier, position) >= getattr(frontier, position)
            for position in PLACES
        )
        if end in (len(turns) // 2, len(turns)):
            if not rendering.is_open:
                CHECKS[target](rendering.rendered.messages)
            # Rendering is deterministic, and the moved frontier is stable.
            assert render_turns(turns[:end], request, rendering.frontier) == rendering
        renderings.append(rendering)
        frontier = rendering.frontier
    for old, new in pairwise(renderings):
        stable = count_unchanged_messages(b"".join(old.hashes), new.hashes)
        assert stable == equal_beginning(old.rendered, new.rendered)
        # If the media that stay exceed the limit, the oldest of them are reduced.
        is_crowded = any(entry.code == "too-many-media" for entry in new.rendered.loss)
        is_unmoved = all(
            getattr(old.frontier, position) == getattr(new.frontier, position)
            for position in PLACES
        )
        # A newer rendering of a pinned page evicts the older one, and the shares of the budget
        # depend on each other.
        has_shares = new.frontier.floor > 0 or bool(pinned)
        if is_unmoved and not is_crowded and not has_shares:
            assert stable >= len(old.rendered.messages) - MAX_IN_A_BATCH
