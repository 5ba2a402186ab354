"""The floor: shares of the budget for turns that are never left out.

Of the budget without the system message, the first message of the user, the newest one, and the
newest answers with pinned pages get at most a quarter each. The newest step gets most of the rest.
Texts longer than their share keep head and tail around a line with the call that returns them.

Source: `context`, "Budget".
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from pagefault_dialects.context.cut_arguments import cut_arguments, mark_arguments
from pagefault_dialects.context.evicted_forms import (
    item_text,
    with_shorter_arguments,
    with_shorter_texts,
)
from pagefault_dialects.context.floor_turns import FloorTurns
from pagefault_dialects.context.weighing import TURN_TOKENS, Weighing
from pagefault_dialects.model.conversation import ComposedTurn, DataItem, Omission, TextItem
from pagefault_dialects.texts.cuts import shortened

# For the lines of folds and handles, and the line that begins a history.
_RESERVE_TOKENS = 96
_LINES_OF_A_TURN = 24
# The newest step leaves these eighths of its room to older turns.
_EIGHTHS_FOR_OLDER = 3
_SHORTEST_CUT_CHARS = 80
_TRIES = 12


class Floor:
    """Shortens protected turns to their shares of a budget.

    Args:
        turns: The protected turns by their indexes, before they are shortened.
        floor: Their kinds.
        cut: The indexes of turns that the floor of the frontier has passed.
        weighing: Measures turns, with media as they are recorded.
        max_tokens: The budget.
        page_of: Returns the page of an answer to a page fault.
        has_older: Whether the history has more than these turns.
    """

    def __init__(
        self,
        turns: Mapping[int, ComposedTurn],
        floor: FloorTurns,
        cut: Collection[int],
        weighing: Weighing,
        max_tokens: int,
        page_of: Callable[[ComposedTurn], str | None],
        *,
        has_older: bool,
    ) -> None:
        self._turns, self._floor, self._past, self._weighing = turns, floor, cut, weighing
        self._page_of = page_of
        self._has_older = has_older
        reserve = min(_RESERVE_TOKENS, max_tokens // 4)
        self.system_tokens = sum(map(self._tokens, floor.system))
        self._room = max(0, max_tokens - self.system_tokens - reserve)
        least = sum(map(self._least, floor.newest))
        parts = max(3, len(floor.messages) + bool(floor.pinned))
        self._quarter = max(0, min(self._room // 4, (self._room - least) // parts))

    def message(self, index: int, turn: ComposedTurn) -> ComposedTurn:
        """Return a message, shortened to its share if the floor has passed it.

        The share is a quarter. Without a step, the last message of the assistant gets the rest.
        """
        messages = self._floor.messages
        if index in messages and index not in self._past:
            return turn
        if turn.role != "assistant" or self._floor.newest or index not in messages[-1:]:
            return self._within(turn, self._quarter, None)
        earlier = [self.message(at, self._turns[at]) for at in messages[:-1]]
        used = self._weighing.turns([*earlier, *map(self.pinned, self._floor.pinned)]).tokens
        return self._within(turn, self._rest(used), None)

    def pinned(self, index: int) -> ComposedTurn:
        """Return an answer with a pinned page, shortened to its part of a quarter."""
        share = self._quarter // max(1, len(self._floor.pinned))
        turn = self._turns[index]
        is_within = sum(map(self._tokens, self._floor.pinned)) <= self._quarter
        if is_within or index not in self._past:
            return turn
        return self._within(turn, share, self._page_of(turn))

    def newest(self) -> dict[int, ComposedTurn]:
        """Return the turns of the newest step, shortened to the rest of the budget."""
        floor, weigh = self._floor, self._weighing.turns
        newest = {at: self._turns[at] for at in floor.newest}
        used = weigh(self.message(at, self._turns[at]) for at in floor.messages).tokens
        used += weigh(map(self.pinned, floor.pinned)).tokens
        room = max(0, self._room - used)
        if sum(map(self._tokens, newest)) <= room or not set(newest) <= set(self._past):
            return newest
        share = self._rest(used)
        calling = [at for at, turn in newest.items() if turn.role != "tool"]
        if sum(map(self._tokens, calling)) > share // 2:
            # Signed calls are cut as well, so that the session can still be rendered.
            for shorten in (cut_arguments, mark_arguments):
                newest |= {at: with_shorter_arguments(self._turns[at], shorten) for at in calling}
                if sum(weigh([newest[at]]).tokens for at in calling) <= share:
                    break
        share -= weigh(newest[at] for at in calling).tokens
        answers = [at for at in newest if at not in calling]
        for at, most in zip(answers, _shares([*map(self._tokens, answers)], share), strict=True):
            newest[at] = self._within(newest[at], most, self._page_of(newest[at]))
        return newest

    def parts(self) -> Sequence[tuple[str, int]]:
        """Return the tokens of each part of the floor, by its name."""
        users = [at for at in self._floor.messages if self._turns[at].role == "user"]
        other_messages = [at for at in self._floor.messages if at not in users]
        newest = self.newest()
        named = [
            ("the system message", [self._turns[at] for at in self._floor.system]),
            ("the first user message", [self.message(at, self._turns[at]) for at in users[:1]]),
            ("the newest user message", [self.message(at, self._turns[at]) for at in users[1:]]),
            (
                "the newest other message",
                [self.message(at, self._turns[at]) for at in other_messages],
            ),
            ("pinned pages", [*map(self.pinned, self._floor.pinned)]),
            ("the newest step", [*newest.values()]),
        ]
        return [(name, self._weighing.turns(part).tokens) for name, part in named if part]

    def _rest(self, used: int) -> int:
        """Return the tokens of the newest step, given those that others use."""
        room = max(0, self._room - used)
        return room * (8 - _EIGHTHS_FOR_OLDER) // 8 if self._has_older else room

    def _tokens(self, index: int) -> int:
        return self._weighing.turn(self._turns[index]).tokens

    def _least(self, index: int) -> int:
        """Return the approximate tokens of a turn of the newest step at its shortest."""
        turn = self._turns[index]
        if turn.role == "tool":
            return TURN_TOKENS + _RESERVE_TOKENS // 2
        return self._weighing.turn(with_shorter_arguments(turn, mark_arguments)).tokens

    def _within(self, turn: ComposedTurn, share: int, page_id: str | None) -> ComposedTurn:
        """Return a turn with its texts cut so that the turn fits a share."""
        whole = self._weighing.turn(turn).tokens
        is_line = any(isinstance(item, Omission) and item.what == "result" for item in turn.items)
        if whole <= share or is_line:
            return turn
        texts = [item_text(item) for item in turn.items if isinstance(item, TextItem | DataItem)]
        costs = [self._weighing.text(text) for text in texts]
        room = share - (whole - sum(costs)) - _LINES_OF_A_TURN * len(texts)
        # Texts of the user keep half of the share, however large the media are.
        least = share // 2 if turn.role == "user" else 0
        most = dict(zip(texts, _shares(costs, max(least, room)), strict=True))

        def shorten(text: str, _: int, call: str) -> str:
            return self._cut(text, most.get(text, 0), call)

        return with_shorter_texts(turn, page_id, shorten)

    def _cut(self, text: str, max_tokens: int, call: str) -> str:
        """Return the head and tail of a text around a line, within a number of tokens."""
        tokens = self._weighing.text(text)
        limit = min(len(text) - 1, len(text) * max_tokens * 8 // (max(1, tokens) * 5))
        if tokens <= max_tokens:
            return text
        for _ in range(_TRIES):
            if limit < _SHORTEST_CUT_CHARS:
                break
            cut = shortened(text, limit, call)
            if (found := self._weighing.text(cut)) <= max_tokens:
                return cut
            limit = min(limit * 15 // 16, limit * max_tokens // found)
        line = shortened(text, 0, call).strip()
        # Texts that are about as short as the line are kept.
        return line if 2 * len(line) < len(text) else text


def _shares(costs: Sequence[int], room: int) -> Sequence[int]:
    """Divide a room among costs: small costs are covered, the others get equal shares."""
    shares: dict[int, int] = {}
    ordered = sorted(range(len(costs)), key=costs.__getitem__)
    for done, index in enumerate(ordered):
        even = max(0, room) // (len(ordered) - done)
        shares[index] = min(costs[index], even)
        room -= shares[index]
    return [shares[index] for index in range(len(costs))]
