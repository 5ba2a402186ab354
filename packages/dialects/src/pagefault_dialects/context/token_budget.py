"""The token budget of a rendering: how far it evicts, and the error if a budget is too small.

A rendering within a budget is a loop: render at a frontier, measure, and call `next_frontier`,
until the frontier does not move any more.

Source: design document `context.md`, "Budget" and "A prefix that stays".
"""

from dataclasses import replace

from pagefault_dialects.context.eviction import EvictableTurns
from pagefault_dialects.context.frontier_moves import (
    advance_frontier,
    estimate_tokens,
    shorten_protected,
)
from pagefault_dialects.context.load_meter import Load, LoadMeter
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.ladder import ResolvedTurns

# Eviction makes room for a quarter of the limit, so that the next turns need no eviction.
_BATCHES_IN_LIMIT = 4
# Added to the budget that an error recommends, since counts are estimates.
_SPARE_TOKENS = 64
# If the budget is raised, protected turns grow with their shares, and can take nine tenths of the
# added tokens. So each attempt adds a multiple of the missing tokens.
_TOKENS_PER_MISSING_TOKEN = 4
_MAX_ATTEMPTS = 16


def count_excess_tokens(tokens: int, limit: int | None, batch: int | None) -> int:
    """Return how many tokens have to be evicted for a conversation to fit a limit.

    Args:
        tokens: The tokens of the conversation.
        limit: The most tokens; `None` without a limit.
        batch: The tokens to evict below the limit, as room for the next turns; `None` for a quarter
            of the limit.
    """
    if limit is None or tokens <= limit:
        return 0
    room = limit // _BATCHES_IN_LIMIT if batch is None else min(batch, limit)
    return tokens - limit + room


def next_frontier(history: EvictableTurns, frontier: Frontier, resolved: ResolvedTurns) -> Frontier:
    """Return the next frontier to try; the same one if the conversation fits its limits.

    Protected turns are shortened only if nothing else can be evicted.

    Args:
        history: The conversation.
        frontier: The frontier of the last attempt.
        resolved: The conversation as it is rendered at that frontier.

    Raises:
        InvalidPayloadError: There are too many tokens, and nothing more can be evicted.
    """
    meter = LoadMeter(history.profile, resolved.turns)
    load = meter.measure_conversation(resolved.turns)
    excess = _measure_excess(resolved, load, history.options)
    if excess == Load():
        return frontier
    if excess.tokens > 0:
        # `advance_frontier` counts estimated tokens, so the excess has to be estimated too. The
        # estimate depends on the frontier alone, so the next frontier does not depend on earlier
        # moves.
        estimated = estimate_tokens(history, frontier, meter) - (load.tokens - excess.tokens)
        excess = replace(excess, tokens=estimated if estimated > 0 else excess.tokens)
    if excess.tokens > 0 and _is_floor_too_large(history, frontier, meter):
        return shorten_protected(history, frontier)
    advanced = advance_frontier(history, frontier, excess, meter)
    if advanced != frontier or excess.tokens <= 0:
        # Media over the limit are replaced when turns are resolved.
        return advanced
    advanced = shorten_protected(history, frontier)
    if advanced == frontier:
        raise _budget_too_small(history, frontier, load.tokens)
    return advanced


def _is_floor_too_large(history: EvictableTurns, frontier: Frontier, meter: LoadMeter) -> bool:
    """Return whether the protected turns alone exceed the budget, and can still be shortened."""
    passages = history.passages
    if not passages or frontier.floor >= passages[-1].position:
        return False
    turns = history.floor_turns(frontier).values()
    return meter.measure_turns(turns).tokens > (history.options.max_tokens or 0)


def _measure_excess(resolved: ResolvedTurns, load: Load, options: RenderOptions) -> Load:
    """Return the load that has to be evicted for a conversation to fit its limits.

    If a request has too many or too large media, more than a quarter of the attached media, or a
    quarter of their base64, is evicted in addition, as room for the next turns. The last attached
    medium stays, and media that are too large alone leave their room to the others.
    """
    batch = 0 if options.frontier is None else options.evict_batch
    tokens = count_excess_tokens(load.tokens, options.max_tokens, batch)
    if options.frontier is None or load.media <= 1:
        # Media over the limit are replaced when turns are resolved.
        return Load(tokens)
    # The media that exceed a limit are lines or smaller images in `resolved`.
    exceeds_count = any(entry.code == "too-many-media" for entry in resolved.loss)
    media = 1 + load.media // 4 if exceeds_count else 0
    base64_chars = max(1, load.base64_chars // 4) if resolved.exceeds_size else 0
    return Load(tokens, media, base64_chars)


def _budget_too_small(
    history: EvictableTurns, frontier: Frontier, tokens: int
) -> InvalidPayloadError:
    """Return the error for a budget that the shortest form exceeds; it names a sufficient budget.

    Args:
        history: The conversation.
        frontier: The frontier at which nothing more can be evicted.
        tokens: The tokens of the conversation at this frontier.
    """
    floor = history.make_floor(frontier)
    max_tokens = history.options.max_tokens or 0
    other_tokens = tokens - _floor_tokens(history, frontier, max_tokens)
    budget = max(max_tokens + 2 * (tokens - max_tokens), 2 * floor.system_tokens) + _SPARE_TOKENS
    for _ in range(_MAX_ATTEMPTS):
        missing = other_tokens + _floor_tokens(history, frontier, budget) + _SPARE_TOKENS - budget
        if missing <= 0:
            break
        budget += _TOKENS_PER_MISSING_TOKEN * missing
    parts = ", ".join(f"{name} {count}" for name, count in floor.count_parts())
    return InvalidPayloadError(
        f"`maxTokens` is {max_tokens}, and what is never left out takes about "
        f"{tokens} tokens even at its shortest: {parts}. Raise the limit, shorten the system "
        "message, or unpin pages.",
        faults=[Fault("/maxTokens", f"must be {budget} or more for this history")],
        code="budget-too-small",
    )


def _floor_tokens(history: EvictableTurns, frontier: Frontier, max_tokens: int) -> int:
    """Return the tokens of protected turns that are shortened to their shares of a budget."""
    history = replace(history, options=replace(history.options, max_tokens=max_tokens))
    return sum(count for _, count in history.make_floor(frontier).count_parts())
