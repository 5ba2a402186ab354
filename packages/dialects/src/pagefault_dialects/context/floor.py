"""The floor: turns that a rendering never leaves out, and their shares of the token budget.

These turns are called protected. The system messages are not shortened. Of the remaining budget,
the first message of the user, the newest message of the user, and the newest results with pinned
pages get at most a quarter each. The newest step gets most of what these turns do not use. A text
longer than its share keeps its beginning and its end, around a line with the call that returns the
whole text.

Source: design document `context.md`, "Budget".
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from pagefault_dialects.context.cut_arguments import cut_arguments, mark_arguments
from pagefault_dialects.context.evicted_forms import (
    format_item_text,
    with_shorter_arguments,
    with_shorter_texts,
)
from pagefault_dialects.context.floor_turns import FloorTurns
from pagefault_dialects.context.load_meter import TURN_TOKENS, LoadMeter
from pagefault_dialects.model.conversation import ComposedTurn, DataItem, Omission, TextItem
from pagefault_dialects.texts.cuts import shorten_text

# The tokens of the lines of folds and handles, and of the line that begins a history.
_RESERVE_TOKENS = 96
# The tokens of the line in a shortened text.
_LINE_TOKENS = 24
# If the history has other turns, they get three eighths of the tokens that would be left for the
# newest step.
_EIGHTHS_FOR_OLDER = 3
# A text that would have to be shorter is replaced by the line alone.
_SHORTEST_CUT_CHARS = 80
_MAX_CUT_ATTEMPTS = 12


class Floor:
    """Protected turns, which are shortened to their shares of a budget.

    Args:
        turns: The protected turns by their indexes in the history, before they are shortened.
        indexes: The indexes of the protected turns of each kind.
        shortened: The indexes of the turns that may be shortened; the others are returned whole.
        meter: Measures turns, with media as they are recorded.
        max_tokens: The budget.
        page_of: Returns the id of the page in a result of `page_fault`; `None` for other turns.
        has_older: True if the history has other turns than these.

    Attributes:
        system_tokens: The tokens of the system messages.
    """

    def __init__(
        self,
        turns: Mapping[int, ComposedTurn],
        indexes: FloorTurns,
        shortened: Collection[int],
        meter: LoadMeter,
        max_tokens: int,
        page_of: Callable[[ComposedTurn], str | None],
        *,
        has_older: bool,
    ) -> None:
        self._turns, self._indexes, self._meter = turns, indexes, meter
        self._shortened = shortened
        self._page_of = page_of
        self._has_older = has_older
        reserve = min(_RESERVE_TOKENS, max_tokens // 4)
        self.system_tokens = sum(map(self._count_tokens, indexes.system))
        # The tokens that all turns but the system messages share.
        self._shared_tokens = max(0, max_tokens - self.system_tokens - reserve)
        min_step_tokens = sum(map(self._count_min_tokens, indexes.newest))
        share_count = max(3, len(indexes.messages) + bool(indexes.pinned))
        # A share is a quarter of these tokens. In a small budget, it is less, since the newest step
        # needs the rest.
        self._max_share = max(
            0,
            min(
                self._shared_tokens // 4,
                (self._shared_tokens - min_step_tokens) // share_count,
            ),
        )

    def shorten_message(self, index: int, turn: ComposedTurn) -> ComposedTurn:
        """Return a message, shortened to its share of the budget.

        If there is no step, the last message of the assistant gets the share of the newest step
        instead. A protected message that is not in `shortened` is returned whole.

        Args:
            index: The index of the message in the history.
            turn: The message at its level of eviction.
        """
        messages = self._indexes.messages
        if index in messages and index not in self._shortened:
            return turn
        if turn.role != "assistant" or self._indexes.newest or index not in messages[-1:]:
            return self._fit(turn, self._max_share, None)
        others = [*self._shorten_messages(messages[:-1]), *self._shorten_pinned_results()]
        return self._fit(
            turn, self._find_step_share(self._meter.measure_turns(others).tokens), None
        )

    def shorten_pinned(self, index: int) -> ComposedTurn:
        """Return a result with a pinned page. All such results together have one share."""
        share = self._max_share // max(1, len(self._indexes.pinned))
        turn = self._turns[index]
        fits = sum(map(self._count_tokens, self._indexes.pinned)) <= self._max_share
        if fits or index not in self._shortened:
            return turn
        return self._fit(turn, share, self._page_of(turn))

    def shorten_newest_step(self) -> dict[int, ComposedTurn]:
        """Return the turns of the newest step by their indexes, shortened to the step's share."""
        measure = self._meter.measure_turns
        newest = {index: self._turns[index] for index in self._indexes.newest}
        used = measure(self._shorten_messages(self._indexes.messages)).tokens
        used += measure(self._shorten_pinned_results()).tokens
        room = max(0, self._shared_tokens - used)
        if sum(map(self._count_tokens, newest)) <= room or not set(newest) <= set(self._shortened):
            return newest
        share = self._find_step_share(used)
        call_indexes = [index for index, turn in newest.items() if turn.role != "tool"]
        if sum(map(self._count_tokens, call_indexes)) > share // 2:
            # Calls that the provider has signed are cut too: otherwise there is no rendering.
            for shorten in (cut_arguments, mark_arguments):
                for index in call_indexes:
                    newest[index] = with_shorter_arguments(self._turns[index], shorten)
                if sum(measure([newest[index]]).tokens for index in call_indexes) <= share:
                    break
        share -= measure(newest[index] for index in call_indexes).tokens
        results = [index for index in newest if index not in call_indexes]
        shares = _divide_tokens(share, [*map(self._count_tokens, results)])
        for index, max_tokens in zip(results, shares, strict=True):
            newest[index] = self._fit(newest[index], max_tokens, self._page_of(newest[index]))
        return newest

    def count_parts(self) -> Sequence[tuple[str, int]]:
        """Return the name of each part of the floor, and its tokens after it is shortened."""
        users = [index for index in self._indexes.messages if self._turns[index].role == "user"]
        others = [index for index in self._indexes.messages if index not in users]
        parts = [
            ("the system message", [self._turns[index] for index in self._indexes.system]),
            ("the first user message", self._shorten_messages(users[:1])),
            ("the newest user message", self._shorten_messages(users[1:])),
            ("the newest other message", self._shorten_messages(others)),
            ("pinned pages", self._shorten_pinned_results()),
            ("the newest step", [*self.shorten_newest_step().values()]),
        ]
        return [(name, self._meter.measure_turns(turns).tokens) for name, turns in parts if turns]

    def _shorten_messages(self, indexes: Iterable[int]) -> Sequence[ComposedTurn]:
        return [self.shorten_message(index, self._turns[index]) for index in indexes]

    def _shorten_pinned_results(self) -> Sequence[ComposedTurn]:
        return [*map(self.shorten_pinned, self._indexes.pinned)]

    def _find_step_share(self, used: int) -> int:
        """Return the share of the newest step, given the tokens that other protected turns use."""
        room = max(0, self._shared_tokens - used)
        return room * (8 - _EIGHTHS_FOR_OLDER) // 8 if self._has_older else room

    def _count_tokens(self, index: int) -> int:
        return self._meter.measure_turn(self._turns[index]).tokens

    def _count_min_tokens(self, index: int) -> int:
        """Return the approximate tokens of a turn of the newest step at its shortest."""
        turn = self._turns[index]
        if turn.role == "tool":
            return TURN_TOKENS + _RESERVE_TOKENS // 2
        return self._meter.measure_turn(with_shorter_arguments(turn, mark_arguments)).tokens

    def _fit(self, turn: ComposedTurn, share: int, page_id: str | None) -> ComposedTurn:
        """Return a turn with its texts cut so that the turn fits a share."""
        tokens = self._meter.measure_turn(turn).tokens
        # A result that was replaced by a line cannot be shortened further.
        is_line = any(isinstance(item, Omission) and item.what == "result" for item in turn.items)
        if tokens <= share or is_line:
            return turn
        texts = [
            format_item_text(item) for item in turn.items if isinstance(item, TextItem | DataItem)
        ]
        text_tokens = [self._meter.count_text_tokens(text) for text in texts]
        room = share - (tokens - sum(text_tokens)) - _LINE_TOKENS * len(texts)
        # Texts of the user keep half of the share, however large the media are.
        min_room = share // 2 if turn.role == "user" else 0
        shares = dict(zip(texts, _divide_tokens(max(min_room, room), text_tokens), strict=True))

        def shorten(text: str, _: int, call: str) -> str:
            return self._cut(text, shares.get(text, 0), call)

        return with_shorter_texts(turn, page_id, shorten)

    def _cut(self, text: str, max_tokens: int, call: str) -> str:
        """Return the beginning and end of a text around a line, within a number of tokens."""
        tokens = self._meter.count_text_tokens(text)
        if tokens <= max_tokens:
            return text
        # Tokens are spread unevenly, so the first attempt has 8/5 of the average characters.
        max_chars = min(len(text) - 1, len(text) * max_tokens * 8 // (tokens * 5))
        for _ in range(_MAX_CUT_ATTEMPTS):
            if max_chars < _SHORTEST_CUT_CHARS:
                break
            cut = shorten_text(text, max_chars, call)
            if (cut_tokens := self._meter.count_text_tokens(cut)) <= max_tokens:
                return cut
            max_chars = min(max_chars * 15 // 16, max_chars * max_tokens // cut_tokens)
        line = shorten_text(text, 0, call).strip()
        # A text that is hardly longer than the line is returned whole.
        return line if 2 * len(line) < len(text) else text


def _divide_tokens(tokens: int, needs: Sequence[int]) -> Sequence[int]:
    """Divide tokens among texts: small needs are met, and the other texts get equal shares.

    Args:
        tokens: The tokens to divide.
        needs: The tokens of each text.

    Returns:
        The share of each text, in the same order.
    """
    shares: dict[int, int] = {}
    smallest_first = sorted(range(len(needs)), key=needs.__getitem__)
    for served, index in enumerate(smallest_first):
        equal_share = max(0, tokens) // (len(needs) - served)
        shares[index] = min(needs[index], equal_share)
        tokens -= shares[index]
    return [shares[index] for index in range(len(needs))]
