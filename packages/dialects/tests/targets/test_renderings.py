"""Properties of every history, target and set of options."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from packages.dialects.tests.targets.histories import (
    MAX_BASE64,
    Rendered,
    histories,
    options,
    render,
    strings_of,
)
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    MediaItem,
    Medium,
    Omission,
    TextItem,
    Turn,
)
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets.table import TARGETS
from tests.providers import CHECKS

EVERY = pytest.mark.parametrize("target", TARGETS)
INLINE = RenderOptions()
# Examples of each property for each target. The fifteen targets share them.
EXAMPLES = 12


def shown_as_they_are(turns: Sequence[ComposedTurn], rendered: Rendered) -> bool:
    """Return whether every medium is rendered as stored, with nothing left out or added.

    The order is not compared: an answer follows its call.
    """
    items = [item for turn in turns for item in turn.items]
    stored = [(str(i.source), i.mime_type) for i in items if isinstance(i, Medium)]
    attached = [
        (str(item.source), item.mime_type)
        for turn in rendered.turns
        for item in turn.items
        if isinstance(item, MediaItem)
    ]
    left_out = any(isinstance(item, Omission) for item in items)
    return sorted(stored) == sorted(attached) and not left_out and len(turns) == len(rendered.turns)


@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), query=options)
def test_loss_is_empty_if_and_only_if_the_rendering_is_complete(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    rendered = render(turns, target, query)
    assert (not rendered.loss) == shown_as_they_are(turns, rendered)


@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), query=options)
def test_every_text_is_rendered_or_in_the_loss(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    rendered = render(turns, target, query)
    rendered_text = strings_of(rendered.messages) + rendered.system
    # If a call has two answers, the account of the loss names the second.
    repeated = {entry.seq for entry in rendered.loss if entry.code == "duplicate-answer"}
    items = [item for turn in turns if turn.seq not in repeated for item in turn.items]
    texts = [item.text for item in items if isinstance(item, TextItem)]
    assert [text for text in texts if text.strip() not in rendered_text] == []


@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), query=options)
def test_every_entry_of_the_loss_is_visible_in_the_messages(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    rendered = render(turns, target, query)
    attached = sum(isinstance(i, MediaItem) for turn in rendered.turns for i in turn.items)
    # If a call has two answers, the account of the loss names the second.
    repeated = {entry.seq for entry in rendered.loss if entry.code == "duplicate-answer"}
    items = [item for turn in turns if turn.seq not in repeated for item in turn.items]
    media = sum(isinstance(item, Medium) for item in items)
    replaced = [
        item
        for turn in rendered.turns
        for item in turn.items
        if isinstance(item, TextItem)
        and item.text.startswith(("[Image", "[Audio", "[Video", "[File"))
    ]
    smaller = sum(entry.to in ("smaller", "larger") for entry in rendered.loss)
    undone = sum(entry.from_ in ("smaller", "larger") for entry in rendered.loss)
    assert len(replaced) == media - attached + smaller - undone


@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), query=options)
def test_limits_are_kept(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    rendered = render(turns, target, query)
    attached = [i for turn in rendered.turns for i in turn.items if isinstance(i, MediaItem)]
    most = MAX_BASE64 if query.max_bytes is None else query.max_bytes
    inline = [item.size_bytes for item in attached if item.address is None]
    assert sum((size + 2) // 3 * 4 for size in inline) <= most
    if query.max_images is not None:
        assert sum(item.kind == "image" for item in attached) <= query.max_images


@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), query=options)
def test_messages_are_valid_for_the_provider(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    messages = render(close_calls(turns), target, query).messages
    CHECKS[target](messages)
    if TARGETS[target].starts_with_user:
        assert messages[0]["role"] == "user"


def close_calls(turns: tuple[ComposedTurn, ...]) -> tuple[ComposedTurn, ...]:
    """Return the history with a last message of the user, so that no call is open."""
    last = turns[-1]
    seq = (last.seq or 0) + 1
    going_on: ComposedTurn = Turn("user", (TextItem("/content", "Go on."),), seq=seq)
    return (*turns, going_on)


@pytest.mark.slow
@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), more=histories(), data=st.data())
def test_appended_turns_change_no_rendered_message(
    target: str,
    turns: tuple[ComposedTurn, ...],
    more: tuple[ComposedTurn, ...],
    data: st.DataObject,
) -> None:
    before = render(close_calls(turns), target, INLINE)
    after = render((*close_calls(turns), *more), target, INLINE)
    assert after.system == before.system
    if after.loss[: len(before.loss)] != before.loss:
        # A limit reduced an older medium, which the loss reports.
        return
    kept = before.messages
    if target in ("bedrock", "gemini"):
        # These targets join the turns of one role into one message, which may grow.
        *kept, last = kept
        member = "content" if target == "bedrock" else "parts"
        assert after.messages[len(kept)][member][: len(last[member])] == last[member]
    assert after.messages[: len(kept)] == kept


@EVERY
@settings(max_examples=EXAMPLES)
@given(turns=histories(), query=options)
def test_rendering_is_deterministic(
    target: str, turns: tuple[ComposedTurn, ...], query: RenderOptions
) -> None:
    assert render(turns, target, query) == render(turns, target, query)
