"""The time to read a result and a message of each dialect, beside the same words as MCP.

Of each dialect the shortest result of the corpus with one text is taken, its text replaced by 2 KB,
and the shortest message. No service runs: `normalize`, or the reading of an entry, is timed, in
processor time, the best of several rounds that alternate with those of the baseline.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.figures import Figure, Scale, ratio_at_most
from packages.dialects.tests.dialects import conversations
from packages.dialects.tests.dialects.corpus import FILE, read_cases
from pagefault_dialects.messages.conversation_reading import read_conversation
from pagefault_dialects.messages.entry_reading import read_entry, read_entry_turns
from pagefault_dialects.results import normalize

GROUP = "dialects"
_WORDS = "Four degrees."
_TEXT = ("The wind comes from the north, and " * 60)[:2_000]


async def measure(scale: Scale) -> Sequence[Figure]:
    """The time of 2 KB in each envelope, and of ten times as many blocks."""
    rounds, calls = scale.pick(40, 1), scale.pick(50, 1)
    mcp = {"content": [{"type": "text", "text": _TEXT}], "isError": False}
    figures = []
    for dialect, value in sorted(_shortest().items()):
        (own, plain) = _times([_with(value, _TEXT), mcp], rounds, calls)
        figures.append(
            Figure(
                group=GROUP,
                name=f"2 KB of {dialect}",
                value=own,
                unit="µs",
                baseline=plain,
                baseline_name="the same words as MCP",
                aim=ratio_at_most(1.3),
            )
        )
    message = {"role": "user", "content": {"type": "text", "text": _TEXT}}
    for dialect, value in sorted(_shortest_messages().items()):
        (own, plain) = _times([value, message], rounds, calls, _read_message)
        figures.append(
            Figure(
                group=GROUP,
                name=f"a message of 2 KB of {dialect}",
                value=own,
                unit="µs",
                baseline=plain,
                baseline_name="the same words as MCP",
                # Of 30 µs, a few that frame a message show.
                aim=ratio_at_most(2),
            )
        )
    few, many = _times(
        [[message] * scale.pick(200, 2), [message] * scale.pick(2_000, 20)],
        rounds,
        1,
        read_conversation,
    )
    figures.append(
        Figure(
            group=GROUP,
            name="a history of 2,000 messages",
            value=many,
            unit="µs",
            baseline=few,
            baseline_name="200 messages",
            aim=ratio_at_most(12),
        )
    )
    few, many = _times([_blocks(scale.pick(400, 4)), _blocks(scale.pick(4_000, 40))], rounds, 1)
    return [
        *figures,
        Figure(
            group=GROUP,
            name="4,000 blocks of anthropic",
            value=many,
            unit="µs",
            baseline=few,
            baseline_name="400 blocks",
            aim=ratio_at_most(12),
        ),
    ]


def _shortest() -> dict[str, Any]:
    """The shortest result of one text, by dialect."""
    found: dict[str, Any] = {}
    for case in read_cases(FILE.read_text()):
        dialect = (normalize(case.value).envelope or {}).get("dialect")
        if case.expect.texts != (_WORDS,) or case.expect.media or not dialect:
            continue
        if dialect not in found or _length(case.value) < _length(found[dialect]):
            found[dialect] = case.value
    return found


def _shortest_messages() -> dict[str, Any]:
    """The shortest message of one text and nothing else, by dialect, with 2 KB in it."""
    found: dict[str, Any] = {}
    for case in conversations.read_cases(conversations.MESSAGES.read_text()):
        text = "".join(case.expect.texts)
        if (
            case.expect != conversations.ExpectedContent((text,))
            or not text
            or _has_several(case.value)
        ):
            continue
        value = _with(case.value, _TEXT, text)
        if case.dialect not in found or _length(value) < _length(found[case.dialect]):
            found[case.dialect] = value
    return found


def _has_several(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and len(content) > 1


def _read_message(value: object) -> None:
    if isinstance(value, dict):
        entry = read_entry(value)
        read_entry_turns(entry, 1, "", {}, audience="assistant", moved_media_ids=frozenset())


def _length(value: object) -> int:
    return len(json.dumps(value))


def _with(value: object, text: str, words: str = _WORDS) -> object:
    replaced: object = json.loads(json.dumps(value).replace(words, text))
    return replaced


def _blocks(count: int) -> object:
    content = [{"type": "text", "text": f"line {number}"} for number in range(count)]
    return {"type": "tool_result", "tool_use_id": "c", "content": content}


def _times(
    values: Sequence[object],
    rounds: int,
    calls: int,
    read: Callable[[object], object] = normalize,
) -> list[float]:
    """The best time of each value, in microseconds."""
    best = [float("inf")] * len(values)
    for _ in range(rounds):
        for at, value in enumerate(values):
            began = time.process_time()
            for _ in range(calls):
                read(value)
            best[at] = min(best[at], (time.process_time() - began) / calls * 1e6)
    return best
