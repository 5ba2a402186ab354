"""The budget of a rendering: the load to be evicted, and the error for budgets that are too small.

Source: `context`, "Budget" and "A prefix that stays".
"""

from dataclasses import replace

from pagefault_dialects.context.eviction import EvictableTurns
from pagefault_dialects.context.frontier_moves import (
    advance_frontier,
    estimate_tokens,
    shorten_protected,
)
from pagefault_dialects.context.weighing import Load, Weighing
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.ladder import ResolvedTurns

# The part of a limit that is evicted at once, so that the next turns only append.
_BATCHES_IN_LIMIT = 4
_SPARE_TOKENS = 64
# Up to nine tenths of each additional token may go to shares of the budget.
_OF_EACH_MISSING = 4
_MAX_TRIES = 16


def excess_load(load: int, most: int | None, batch: int | None) -> int:
    """Return how much has to be evicted for a load to fit, with room for the turns that follow.

    Args:
        load: The load at present.
        most: The limit, if there is one.
        batch: The room that is made below the limit; `None` for a quarter of it.
    """
    if most is None or load <= most:
        return 0
    room = most // _BATCHES_IN_LIMIT if batch is None else min(batch, most)
    return load - most + room


def next_frontier(history: EvictableTurns, frontier: Frontier, resolved: ResolvedTurns) -> Frontier:
    """Return the frontier at which a conversation comes closer to its limits; the same if it fits.

    Protected turns are shortened only if nothing else can be evicted.

    Args:
        history: The conversation.
        frontier: The frontier at present.
        resolved: The conversation as it is rendered at that frontier.

    Raises:
        InvalidPayloadError: There are too many tokens, and nothing more can be evicted.
    """
    weighing = Weighing(history.profile, resolved.turns)
    load = weighing.total(resolved.turns)
    excess = _excess(resolved, load, history.options)
    if excess == Load():
        return frontier
    if excess.tokens > 0:
        # The same positions follow from any earlier frontier, so those of old steps are not needed.
        estimate = estimate_tokens(history, frontier, weighing)
        estimated = excess.tokens - load.tokens + estimate
        excess = replace(excess, tokens=estimated if estimated > 0 else excess.tokens)
    if excess.tokens > 0 and _is_floor_too_large(history, frontier, weighing):
        return shorten_protected(history, frontier)
    further = advance_frontier(history, frontier, excess, weighing)
    if further != frontier or excess.tokens <= 0:
        # Media over the limit are replaced when turns are resolved.
        return further
    further = shorten_protected(history, frontier)
    if further == frontier:
        raise _too_small(history, frontier, load.tokens)
    return further


def _is_floor_too_large(history: EvictableTurns, frontier: Frontier, weighing: Weighing) -> bool:
    """Return whether protected turns exceed the budget without any other turn."""
    passages = history.passages
    if not passages or frontier.floor >= passages[-1].place:
        return False
    turns = history.floor_turns(frontier).values()
    return weighing.turns(turns).tokens > (history.options.max_tokens or 0)


def _excess(resolved: ResolvedTurns, load: Load, options: RenderOptions) -> Load:
    """Return the load that has to be evicted for a conversation to fit its limits."""
    batch = 0 if options.frontier is None else options.evict_batch
    tokens = excess_load(load.tokens, options.max_tokens, batch)
    if options.frontier is None:
        # Media over the limit are replaced when turns are resolved.
        return Load(tokens)
    codes = [entry.code for entry in resolved.loss]
    crowded, is_large = codes.count("too-many-media"), "request-too-large" in codes
    media = crowded + load.media // 4 if crowded else 0
    base64_chars = max(1, load.base64_chars // 4) if is_large else 0
    return Load(tokens, media, base64_chars)


def _too_small(history: EvictableTurns, frontier: Frontier, tokens: int) -> InvalidPayloadError:
    floor = history.floor_shares(frontier)
    most = history.options.max_tokens or 0
    other_tokens = tokens - _floor_tokens(history, frontier, most)
    least = max(most + 2 * (tokens - most), 2 * floor.system_tokens) + _SPARE_TOKENS
    # The shares of protected turns grow with the budget.
    for _ in range(_MAX_TRIES):
        missing = other_tokens + _floor_tokens(history, frontier, least) + _SPARE_TOKENS - least
        if missing <= 0:
            break
        least += _OF_EACH_MISSING * missing
    parts = ", ".join(f"{name} {count}" for name, count in floor.parts())
    return InvalidPayloadError(
        f"`maxTokens` is {most}, and what is never left out takes about "
        f"{tokens} tokens even at its shortest: {parts}. Raise the limit, shorten the system "
        "message, or unpin pages.",
        faults=[Fault("/maxTokens", f"must be {least} or more for this history")],
        code="budget-too-small",
    )


def _floor_tokens(history: EvictableTurns, frontier: Frontier, most: int) -> int:
    """Return the tokens of protected turns within a budget."""
    within = replace(history, options=replace(history.options, max_tokens=most))
    return sum(count for _, count in within.floor_shares(frontier).parts())
