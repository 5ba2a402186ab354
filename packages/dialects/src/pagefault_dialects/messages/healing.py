"""Repair of histories that a provider refuses."""

from dataclasses import replace

from pagefault_dialects.json.surrogates import has_lone_surrogate
from pagefault_dialects.json.values import JsonValue, repair_surrogates
from pagefault_dialects.messages.diagnosis import diagnose, is_home, without_originals
from pagefault_dialects.messages.histories import body_dialect, sent_messages
from pagefault_dialects.messages.reading import locate_loss, read_messages
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.rendering import RenderedMessages, render
from pagefault_dialects.targets.table import find_profile

_DEFAULTS = RenderOptions()


def heal(
    history: JsonValue, target: str | None = None, options: RenderOptions = _DEFAULTS
) -> RenderedMessages:
    """Repair a history for its provider: unanswered calls, ids, order and media.

    A history of the target's own dialect without faults is returned unchanged.

    Args:
        history: A list of messages in any dialect, or a request that holds one.
        target: The target; `None` for the history's own dialect.
        options: The options of the rendering.

    Returns:
        The messages. The entries of `loss` point into `history`.

    Raises:
        InvalidPayloadError: There is no history, no such target, or it does not fit the limits.
    """
    is_whole = not has_lone_surrogate(history)
    read = read_messages(
        history if is_whole else repair_surrogates(history, keeps_spelling=True), closes=True
    )
    main = body_dialect(history, read.messages)
    profile = find_profile(target or main or "openai-chat", options)
    rendered = render(read.turns, profile.target, options)
    is_plain = is_whole and replace(options, max_tokens=None) == _DEFAULTS
    is_at_home = is_plain and is_home(read, profile.target, main)
    sent = sent_messages(history)
    found = diagnose(read, profile, rendered.loss, main, sent=sent)
    if is_at_home and not found:
        return replace(rendered, messages=sent, loss=())
    if found:
        rendered = render(without_originals(read.turns), profile.target, options)
    return replace(rendered, loss=tuple(locate_loss(rendered.loss, read.messages)))
