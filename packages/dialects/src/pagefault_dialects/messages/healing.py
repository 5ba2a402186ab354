"""Histories that a provider refuses, made into ones that it takes."""

from dataclasses import replace

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.histories import main_dialect
from pagefault_dialects.messages.reading import locate_loss, read_messages
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.rendering import RenderedMessages, render

_DEFAULTS = RenderOptions()


def heal(
    history: JsonValue, target: str | None = None, options: RenderOptions = _DEFAULTS
) -> RenderedMessages:
    """Return a history as its provider accepts it: calls answered, ids, order and media repaired.

    Args:
        history: A list of messages in any dialect, or a request that holds one.
        target: For whom it is; `None` for the dialect that most of it is in.
        options: How it is rendered.

    Returns:
        The messages. The entries of `loss` point into `history`.

    Raises:
        InvalidPayloadError: There is no history, no such target, or it does not fit the limits.
    """
    read = read_messages(history)
    rendered = render(read.turns, target or main_dialect(read.messages) or "openai-chat", options)
    return replace(rendered, loss=tuple(locate_loss(rendered.loss, read.messages)))
