"""Cuts of texts to a number of tokens, for results of the memory's tools.

Only the part that fits is counted, so the time of a cut does not depend on the length of the text.

Source: design document `context.md`, "Budget".
"""

from collections.abc import Callable, Sequence

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.targets.tokens import TokenRule, count_tokens
from pagefault_dialects.texts.cuts import Excerpt, find_boundary_after, find_boundary_before

MAX_RESULT_TOKENS = 8_000
"""The most tokens of a result of a memory tool, if the rendering has no budget."""

# Tokens are counted in pieces of this length.
_PIECE_CHARS = 2_048
# A result gets at most half of a budget, since turns that are never left out need the rest.
_BUDGET_DIVISOR = 2
_MIN_RESULT_TOKENS = 100
# The tokens of the line between beginning and end.
_GAP_TOKENS = 64


def max_result_tokens(budget: int | None, rule: TokenRule) -> int:
    """Return the most tokens of a result of a memory tool, as `count_tokens` counts them.

    Args:
        budget: The `maxTokens` of the rendering in which the model will get the result; `None`
            without a limit.
        rule: The rule by which the target of that rendering counts tokens.
    """
    if budget is None:
        return MAX_RESULT_TOKENS
    return max(_MIN_RESULT_TOKENS, budget * 100 // rule.text_percent // _BUDGET_DIVISOR)


def find_token_bound(text: str) -> int:
    """Return an upper bound of the tokens of a text: its bytes, since no token is empty."""
    return len(text.encode("utf-8", "surrogatepass"))


def chars_within(text: str, max_tokens: int) -> int:
    """Return the length of a beginning of a text with at most `max_tokens`, about the longest."""
    if len(text) <= max_tokens and find_token_bound(text) <= max_tokens:
        return len(text)
    start, room = 0, max_tokens
    while start < len(text):
        piece = text[start : start + _PIECE_CHARS]
        tokens = count_tokens(piece)
        if tokens > room:
            return start + _chars_within_piece(piece, room)
        start, room = start + len(piece), room - tokens
    return len(text)


def head_and_tail_within(text: str, max_tokens: int, hint_at: Callable[[int], str]) -> Excerpt:
    """Return a text, or its beginning and end if it has more than `max_tokens`.

    Args:
        text: The whole text.
        max_tokens: The most tokens, including the line between beginning and end.
        hint_at: Returns the end of that line, which says how to read the omitted characters. Its
            argument is the offset of the first of them.
    """
    if chars_within(text, max_tokens) == len(text):
        return Excerpt(text, 0, len(text), len(text))
    room = max(0, max_tokens - _GAP_TOKENS)
    head_end = find_boundary_before(text, chars_within(text, room - room // 8))
    tail_chars = _last_chars_within(text, room // 8)
    tail_start = max(head_end, find_boundary_after(text, len(text) - tail_chars))
    hint = hint_at(head_end)
    gap = f"\n[… {tail_start - head_end} characters left out{'; ' if hint else ''}{hint} …]\n"
    excerpt = text[:head_end] + gap + text[tail_start:]
    return Excerpt(excerpt, 0, head_end, len(text), has_gap=True)


def lines_within(lines: Sequence[str], max_tokens: int) -> Sequence[str]:
    """Return as many of the first lines as have at most `max_tokens` together."""
    if sum(find_token_bound(line) + 1 for line in lines) <= max_tokens:
        return lines
    room = max_tokens
    for index, line in enumerate(lines):
        room -= count_tokens(line) + 1
        if room < 0:
            return lines[:index]
    return lines


def blocks_within(content: Sequence[JsonValue], max_tokens: int) -> Sequence[JsonValue]:
    """Return the blocks of a result, with their texts cut to `max_tokens` together."""
    texts = (block.get("text") for block in content if isinstance(block, dict))
    if sum(find_token_bound(text) for text in texts if isinstance(text, str)) <= max_tokens:
        return content
    bounded: list[JsonValue] = []
    for block in content:
        if isinstance(block, dict) and isinstance(text := block.get("text"), str):
            excerpt = head_and_tail_within(text, max_tokens, lambda _: "").text
            max_tokens = max(0, max_tokens - count_tokens(excerpt))
            bounded.append({**block, "text": excerpt})
        else:
            bounded.append(block)
    return bounded


def _chars_within_piece(piece: str, max_tokens: int) -> int:
    """Return the length of a beginning of a piece with at most `max_tokens`, about the longest."""
    size, tokens = len(piece), count_tokens(piece)
    while size and tokens > max_tokens:
        # Reduce in proportion, and by at least one character.
        size = min(size - 1, size * max_tokens // tokens)
        tokens = count_tokens(piece[:size])
    return size


def _last_chars_within(text: str, max_tokens: int) -> int:
    """Return the length of an end of a text with at most `max_tokens`, and at most one piece."""
    size = min(len(text), _PIECE_CHARS, 4 * max_tokens)
    while size and (tokens := count_tokens(text[-size:])) > max_tokens:
        size = min(size - 1, size * max_tokens // tokens)
    return size
