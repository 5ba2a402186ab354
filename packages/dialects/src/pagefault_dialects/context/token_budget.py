"""The budget of a rendering: what it takes, and how far the frontier moves to make it fit.

Source: `context`, "Budget" and "A prefix that stays".
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pagefault_dialects.context.eviction import ORDER, EvictableTurns, EvictionClass
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    Item,
    MediaItem,
    Medium,
    SettledTurn,
)
from pagefault_dialects.model.frontier import Frontier
from pagefault_dialects.model.render_options import RenderOptions, base64_length
from pagefault_dialects.targets.base64_leaves import text_of
from pagefault_dialects.targets.ladder import Settled
from pagefault_dialects.targets.opening_turns import opened
from pagefault_dialects.targets.profile import Profile

# A part of a limit: what is evicted at once, so that the next turns change nothing.
_BATCHES_IN_LIMIT = 4


@dataclass(frozen=True, slots=True)
class Load:
    """What something takes of a rendering: tokens, media, and characters of base64."""

    tokens: int = 0
    media: int = 0
    base64_chars: int = 0

    def __add__(self, other: "Load") -> "Load":
        return Load(
            self.tokens + other.tokens,
            self.media + other.media,
            self.base64_chars + other.base64_chars,
        )

    def __sub__(self, other: "Load") -> "Load":
        return Load(
            self.tokens - other.tokens,
            self.media - other.media,
            self.base64_chars - other.base64_chars,
        )


class Weighing:
    """Weighs turns for one target.

    Args:
        profile: The target.
        settled: The same turns, settled: what is attached weighs what it was made into.
    """

    def __init__(self, profile: Profile, settled: Sequence[SettledTurn]) -> None:
        self._rule = profile.tokens
        self._attached = {
            (item.medium.seq or turn.seq, turn.call_id, item.medium.pointer): item
            for turn in settled
            for item in turn.items
            if isinstance(item, MediaItem)
        }
        attached = self._attached.values()
        system, turns = opened(settled, profile)
        tokens = self._rule.turns(turns, system)
        self.load = Load(tokens, len(attached), sum(map(_base64_chars, attached)))

    def turn(self, turn: ComposedTurn) -> Load:
        """Return what the items of a turn take."""
        return sum((self._item(turn, item) for item in turn.items), Load())

    def _item(self, turn: ComposedTurn, item: Item) -> Load:
        if not isinstance(item, Medium):
            return Load(self._rule.text(text_of(item) or ""))
        if item.is_evicted:
            return Load(self._rule.text(item.instead or ""))
        attached = self._attached.get((item.seq or turn.seq, turn.call_id, item.pointer))
        if attached is None:
            return Load()
        return Load(self._rule.medium(attached), 1, _base64_chars(attached))


def _base64_chars(attachment: MediaItem) -> int:
    return 0 if attachment.address is not None else base64_length(attachment.size_bytes)


def to_be_saved(load: int, most: int | None, batch: int | None) -> int:
    """Return how much has to go so that a load fits again, with room for the turns that follow.

    Args:
        load: What there is.
        most: The limit, if there is one.
        batch: How far below it a load that has passed it is brought; `None` for a quarter of it.
    """
    if most is None or load <= most:
        return 0
    room = most // _BATCHES_IN_LIMIT if batch is None else min(batch, most)
    return load - most + room


def next_frontier(
    history: EvictableTurns,
    frontier: Frontier,
    settled: Settled,
    profile: Profile,
    options: RenderOptions,
) -> Frontier:
    """Return how far a frontier has to move for a conversation to fit; itself if it fits.

    Args:
        history: What may be evicted.
        frontier: How far it is.
        settled: The conversation as that has it.
        profile: The target.
        options: The limits.

    Raises:
        InvalidPayloadError: There are too many tokens, and nothing is left that could go.
    """
    weighing = Weighing(profile, settled.turns)
    wanted = _to_be_saved(settled, weighing.load, options)
    if wanted == Load():
        return frontier
    further = moved(history, frontier, wanted, weighing)
    # Media that do not fit have stepped down.
    if further == frontier and wanted.tokens > 0:
        raise _too_small(weighing.load.tokens, options.max_tokens)
    return further


def moved(
    history: EvictableTurns, frontier: Frontier, wanted: Load, weighing: Weighing
) -> Frontier:
    """Move a frontier until so much is saved, or there is nothing left that could be.

    Args:
        history: What may be evicted.
        frontier: How far it has been.
        wanted: What is to be saved. For media and base64 no text is evicted.
        weighing: Knows what turns take.
    """
    saved = Load()
    through: dict[str, int] = {each: getattr(frontier, each) for each in ORDER}
    for kind in ORDER:
        for seq, saving in _savings(history, kind, through[kind], weighing).items():
            missing = wanted - saved
            wants_media = missing.media > 0 or missing.base64_chars > 0
            if missing.tokens <= 0 and not (wants_media and kind.endswith("media")):
                break
            if saving.tokens > 0 or saving.media > 0:
                saved += saving
                through[kind] = seq
    return frontier.model_copy(update=through)


def _savings(
    history: EvictableTurns, kind: EvictionClass, through: int, weighing: Weighing
) -> Mapping[int, Load]:
    """Return what evicting one kind of thing saves at each `seq` behind the frontier, in order."""
    savings: defaultdict[int, Load] = defaultdict(Load)
    before = ORDER[: ORDER.index(kind)]
    for index in range(len(history.turns)):
        seq = history.seq(index)
        if kind.startswith("said") and index > history.newest_user:
            # What is passed here would give way without a move once the user speaks again.
            break
        if seq <= through or index in history.stays:
            continue
        old, new = history.shown(index, before), history.shown(index, [*before, kind])
        if old is not new:
            savings[seq] += weighing.turn(old) - weighing.turn(new)
    return dict(sorted(savings.items()))


def _to_be_saved(settled: Settled, load: Load, options: RenderOptions) -> Load:
    """Return what has to give way so that a conversation fits its limits."""
    batch = 0 if options.frontier is None else options.evict_batch
    tokens = to_be_saved(load.tokens, options.max_tokens, batch)
    if options.frontier is None:
        # What is too much of media steps down by itself.
        return Load(tokens)
    codes = [entry.code for entry in settled.loss]
    crowded, is_large = codes.count("too-many-media"), "request-too-large" in codes
    media = crowded + load.media // 4 if crowded else 0
    base64_chars = max(1, load.base64_chars // 4) if is_large else 0
    return Load(tokens, media, base64_chars)


def _too_small(tokens: int, most: int | None) -> InvalidPayloadError:
    return InvalidPayloadError(
        f"What is never left out has about {tokens} tokens, and `maxTokens` is {most}: what the "
        "system says, the user's first and newest messages, calls, pinned pages, and the turn in "
        "progress. Raise the limit, or unpin pages.",
        faults=[Fault("/maxTokens", f"must be {tokens} or more for this history")],
        code="budget-too-small",
    )
