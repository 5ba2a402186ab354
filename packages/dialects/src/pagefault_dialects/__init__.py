"""The dialects of models, tools and agent frameworks: read, compared and written.

    normalize        any result of a tool becomes typed parts and the media found in them
    read_messages    any history becomes the turns of a conversation
    render           a conversation becomes the messages of a target
    heal             a history becomes one that its provider accepts

It does no I/O. A name is loaded when it is used first.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pagefault_dialects.dialects.foreign_message import ForeignMessage
    from pagefault_dialects.errors import (
        Fault,
        InvalidJsonError,
        InvalidPayloadError,
        PagefaultError,
        PayloadTooLargeError,
    )
    from pagefault_dialects.messages.healing import heal
    from pagefault_dialects.messages.reading import ReadHistory, read_messages
    from pagefault_dialects.model.conversation import ComposedTurn
    from pagefault_dialects.model.loss import LossEntry
    from pagefault_dialects.model.normalized import NormalizedToolResult
    from pagefault_dialects.model.render_options import RenderOptions
    from pagefault_dialects.rendering import RenderedMessages, render
    from pagefault_dialects.results.result import normalize
    from pagefault_dialects.targets.table import TARGETS

__all__ = [
    "TARGETS",
    "ComposedTurn",
    "Fault",
    "ForeignMessage",
    "InvalidJsonError",
    "InvalidPayloadError",
    "LossEntry",
    "NormalizedToolResult",
    "PagefaultError",
    "PayloadTooLargeError",
    "ReadHistory",
    "RenderOptions",
    "RenderedMessages",
    "heal",
    "normalize",
    "read_messages",
    "render",
]

_MODULES = {
    "TARGETS": "targets.table",
    "ComposedTurn": "model.conversation",
    "Fault": "errors",
    "ForeignMessage": "dialects.foreign_message",
    "InvalidJsonError": "errors",
    "InvalidPayloadError": "errors",
    "LossEntry": "model.loss",
    "NormalizedToolResult": "model.normalized",
    "PagefaultError": "errors",
    "PayloadTooLargeError": "errors",
    "ReadHistory": "messages.reading",
    "RenderOptions": "model.render_options",
    "RenderedMessages": "rendering",
    "heal": "messages.healing",
    "normalize": "results.result",
    "read_messages": "messages.reading",
    "render": "rendering",
}


def __getattr__(name: str) -> object:
    """Load a public name from its module."""
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
