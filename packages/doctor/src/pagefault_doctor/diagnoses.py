"""Shapes of requests to the doctor, and of its answers."""

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
    """A history: a request that a provider refused, a list of messages, or a session.

    Messages may be of any dialect, and of several. `input` and `contents` are read like `messages`,
    and the system prompt from the member of each dialect.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE_REQUEST]})

    messages: list[Any] | None = None
    """In any dialect."""
    session_id: ClientId | None = None
    """Instead: a session kept here."""


class Diagnosis(WireModel):
    """The findings of a history, and the repaired history."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    target: Target
    profile: str
    """Target and version of its limits and rules."""
    dialect: str | None
    """The dialect of most messages, if it can be detected."""
    findings: tuple[Finding, ...]
    """In the order of the messages; empty for a sound history."""
    loss: tuple[LossEntry, ...]
    """Content that the repaired history lacks, and content that the repair added."""
    tokens_est: int
    """An estimate of the tokens of the repaired history."""
    system: str | None = None
    """With `apply`: the system prompt, if the target has it outside the messages."""
    messages: tuple[JsonObject, ...] | None = None
    """With `apply`: the repaired history, ready for the provider."""
