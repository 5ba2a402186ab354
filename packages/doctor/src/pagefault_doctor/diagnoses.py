"""Shapes of examinations: what may be sent to the doctor, and what comes back."""

from typing import Any

from pydantic import ConfigDict
from pydantic.config import JsonDict

from app.wire.renders import Target
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import ClientId, WireModel
from pagefault_dialects.model.finding import Finding
from pagefault_dialects.model.loss import LossEntry

_EXAMPLE_REQUEST: JsonDict = {
    "messages": [
        {"role": "user", "content": "What is on the page?"},
        {"role": "tool", "tool_call_id": "call_1", "content": "A picture of a cat."},
    ]
}
_EXAMPLE: JsonDict = {
    "target": "openai-chat",
    "profile": "openai-chat/2026-11-29",
    "dialect": "openai-chat",
    "findings": [
        {
            "pointer": "/messages/1",
            "rule": "no-call",
            "demands": "A result answers a call.",
            "fix": "a call without arguments is written before it",
            "source": "every provider",
        }
    ],
    "loss": [
        {
            "pointer": "/messages/1",
            "from": "nothing",
            "to": "call",
            "code": "no-call",
            "reason": "The history has no call that this answers; one without arguments stands "
            "before it.",
            "restore": "/messages/1",
        }
    ],
    "tokensEst": 30,
}


class Examination(WireModel):
    """A history: the request that a provider refused, or a list of messages, or a session.

    The messages are of any dialect, also each of another; `input` and `contents` are read as
    `messages` are, and what the system says is read from where the dialects have it.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE_REQUEST]})

    messages: list[Any] | None = None
    """In any dialect."""
    session_id: ClientId | None = None
    """Instead: a session kept here."""


class Diagnosis(WireModel):
    """What is wrong with a history, and the history healed."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    target: Target
    profile: str
    """Target and version of its limits and rules."""
    dialect: str | None
    """What most of the history is written in, if that shows."""
    findings: tuple[Finding, ...]
    """In the order of the messages; empty if all is well."""
    loss: tuple[LossEntry, ...]
    """What the healed history lacks, or has that nobody said."""
    tokens_est: int
    """About how many tokens the healed one costs."""
    system: str | None = None
    """With `apply`: what the system said, where that is apart."""
    messages: tuple[JsonObject, ...] | None = None
    """With `apply`: the healed history, to be sent to the provider."""
