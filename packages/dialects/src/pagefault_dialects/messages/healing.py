"""Repair of histories that a provider refuses."""

from dataclasses import replace

from pagefault_dialects.json.surrogates import has_lone_surrogate
from pagefault_dialects.json.values import JsonValue, repair_surrogates
from pagefault_dialects.messages.diagnosis import diagnose, has_target_form, remove_sent_messages
from pagefault_dialects.messages.histories import find_body_dialect, list_sent_messages
from pagefault_dialects.messages.reading import locate_loss, read_messages
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.rendering import RenderedMessages, render
from pagefault_dialects.targets.table import find_profile

_DEFAULTS = RenderOptions()


def heal(
    history: JsonValue, target: str | None = None, options: RenderOptions = _DEFAULTS
) -> RenderedMessages:
    """Repair a history for a provider: calls without a result, ids, the order of turns, and media.

    A history without faults that is in the dialect of the target is returned unchanged.

    Args:
        history: A list of messages in any dialect, or a request that contains one.
        target: The target; `None` for the dialect of the history.
        options: The options of the rendering.

    Returns:
        The messages. The entries of `loss` point into `history`.

    Raises:
        InvalidPayloadError: There is no history or no such target, or the history exceeds the
            limits.
    """
    is_valid_unicode = not has_lone_surrogate(history)
    repaired = history if is_valid_unicode else repair_surrogates(history, keeps_spelling=True)
    reading = read_messages(repaired, closes=True)
    dialect = find_body_dialect(history, reading.messages)
    profile = find_profile(target or dialect or "openai-chat", options)
    rendered = render(reading.turns, profile.target, options)
    sent = list_sent_messages(history)
    findings = diagnose(reading, profile, rendered.loss, dialect, sent=sent)
    may_stay = is_valid_unicode and replace(options, max_tokens=None) == _DEFAULTS
    if not findings and may_stay and has_target_form(reading, profile.target, dialect):
        return replace(rendered, messages=sent, loss=())
    if findings:
        # A rendering copies sent messages that are unchanged, with their faults.
        rendered = render(remove_sent_messages(reading.turns), profile.target, options)
    return replace(rendered, loss=tuple(locate_loss(rendered.loss, reading.messages)))
