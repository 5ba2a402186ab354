"""What holds for every history that is rendered turn by turn with a frontier, whatever the target.

`PAGEFAULT_TEST_HISTORIES` is how many histories are tried for each target.
"""

import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.errors import InvalidPayloadError
from app.models.conversation import ComposedTurn
from app.models.frontier import NOTHING_EVICTED, Frontier
from app.models.rendering import LossEntry, RenderOptions
from app.rendering.context.budget import next_frontier
from app.rendering.context.eviction import ORDER, history_of
from app.rendering.targets.ladder import Settled
from app.rendering.targets.opening import opened
from app.rendering.targets.table import TARGETS
from app.rendering.turns.pairing import orphans_in, paired
from tests.providers import CHECKS
from tests.unit.rendering.context.long_histories import long_histories
from tests.unit.rendering.targets.histories import Rendered, settle, written

EVERY = pytest.mark.parametrize("target", TARGETS)
EXAMPLES = int(os.environ.get("PAGEFAULT_TEST_HISTORIES", "46"))
MOST_IN_A_BATCH = 4


def fitted(
    turns: Sequence[ComposedTurn], target: str, wish: RenderOptions, frontier: Frontier
) -> tuple[Settled, Frontier]:
    """A history that fits, and how far its frontier had to move."""
    profile = TARGETS[target]
    conversation = paired(turns, kept=frontier.orphans)
    history = history_of(conversation)
    while True:
        settled = settle(history.evicted(frontier), target, wish)
        further = next_frontier(history, frontier, settled, profile, wish)
        if further == frontier:
            orphans = orphans_in(conversation)
            return settled, frontier.model_copy(update={"orphans": orphans})
        frontier = further


def tokens_of(settled: Settled, target: str) -> int:
    profile = TARGETS[target]
    system, turns = opened(settled.turns, profile)
    return profile.tokens.turns(turns, system)


def evicted_in(loss: Sequence[LossEntry]) -> list[LossEntry]:
    return [entry for entry in loss if entry.code == "evicted"]


def equal_beginning(old: Rendered, new: Rendered) -> int:
    pairs = zip(old.messages, new.messages, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(old.messages))


@EVERY
@settings(max_examples=EXAMPLES, deadline=None)
@given(
    turns=long_histories(),
    most=st.sampled_from([300, 800, 2_000, 6_000]),
    batch=st.sampled_from([None, 0, 200]),
    most_images=st.sampled_from([None, None, 2]),
)
def test_history_fits_at_every_turn_and_changes_only_when_its_frontier_moves(
    target: str,
    turns: tuple[ComposedTurn, ...],
    most: int,
    batch: int | None,
    most_images: int | None,
) -> None:
    wish = RenderOptions(
        max_tokens=most, max_images=most_images, evict_batch=batch, frontier="main", handles=False
    )
    frontier, renderings = NOTHING_EVICTED, []
    for end in range(1, len(turns) + 1):
        try:
            settled, moved_to = fitted(turns[:end], target, wish, frontier)
        except InvalidPayloadError as exc:
            # It says how large a limit has to be, and with that one it fits.
            [fault] = exc.faults
            least = int(fault.detail.split()[2])
            assert least > most
            wish = replace(wish, max_tokens=least)
            settled, moved_to = fitted(turns[:end], target, wish, frontier)
        assert tokens_of(settled, target) <= (wish.max_tokens or 0)
        assert all(getattr(moved_to, each) >= getattr(frontier, each) for each in ORDER)
        rendered = written(settled, target, wish)
        renderings.append((rendered, moved_to))
        frontier = moved_to
        # The same inputs give the same rendering, and what it has moved to needs no further move.
        again, unmoved = fitted(turns[:end], target, wish, frontier)
        assert (written(again, target, wish), unmoved) == (rendered, frontier)
        for entry in evicted_in(rendered.loss):
            assert entry.restore.startswith("GET /api/")
    CHECKS[target](renderings[-1][0].messages)
    for (old, before), (new, after) in pairwise(renderings):
        # Where not even what stays has so few media, the oldest of them step down all the same.
        is_crowded = any(entry.code == "too-many-media" for entry in new.loss)
        if not is_crowded and all(getattr(before, each) == getattr(after, each) for each in ORDER):
            assert equal_beginning(old, new) >= len(old.messages) - MOST_IN_A_BATCH
