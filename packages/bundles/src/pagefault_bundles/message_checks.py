"""Check that the messages of a bundle can be read, and returned as they were sent."""

from collections.abc import Mapping

from app.models.limits import Limits
from app.models.message import sent_message
from app.services.renders.prompt_turns import prompt_turns
from app.services.sessions.message_requests import FlatMessage, only_answer
from app.stores.records.session_prompts import SessionPrompt
from pagefault_bundles import rows
from pagefault_bundles.bundle_lines import parse_stored_object
from pagefault_bundles.format_errors import require
from pagefault_bundles.record_checks import (
    NeededResources,
    check_form_pointers,
    check_forms,
    form_references,
)
from pagefault_dialects.dialects.registry import DIALECTS
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.messages.entry_reading import READING, is_flat, read_stored
from pagefault_dialects.messages.message_references import references_in

_SERVICE_MEMBERS = frozenset(
    {"seq", "id", "created_at", "sanitized", "interaction", "interaction_id"}
)
"""Members that messages without a dialect cannot have, since such messages were refused."""
_NAMES = frozenset(dialect.name for dialect in DIALECTS)


def check_message(line: rows.MessageLine, limits: Limits) -> NeededResources:
    """Raise unless a message can be read, and returned as it was sent."""
    stored = bytes(line.message)
    sent = sent_message(stored, dialect=line.dialect, role=line.role)
    require(len(sent) <= limits.message_bytes, "has a message that is too long")
    value = parse_stored_object(stored, limits)
    answered = _flat_answer(line, value) if line.role is None else _wrapped_answer(line, value)
    require(answered == line.tool_call_id, "answers another call than it says")
    forms = check_forms(line.inline_form)
    require("" not in forms, "has a form that is not in it")
    check_form_pointers(dict(value), forms)
    rows.parse_moment(line.created_at)
    if line.role is None:
        _check_flat_reading(line, value)
    return form_references(forms, named=references_in(value))


def check_prompt(line: rows.PromptLine, limits: Limits) -> SessionPrompt:
    """Return the prompt in a line; raise if it cannot be read."""
    text = bytes(line.prompt)
    require(len(text) <= limits.message_bytes, "has a prompt that is too long")
    parse_stored_object(text, limits)
    require(line.dialect is None or line.dialect in _NAMES, "has a prompt of no dialect")
    prompt_turns(text, origin="")
    return SessionPrompt(line.dialect, text)


def _flat_answer(line: rows.MessageLine, value: Mapping[str, JsonValue]) -> str | None:
    """Return the id of the call that a flat message answers; raise if it is not flat."""
    draft = FlatMessage.model_validate(value)
    if line.dialect is not None and line.reading is not None:
        return only_answer(read_stored(dict(value), *_reading(line)))
    return draft.tool_call_id if draft.role == "tool" else None


def _check_flat_reading(line: rows.MessageLine, value: Mapping[str, JsonValue]) -> None:
    """Raise unless a flat message can be read, by its reading or as one without a dialect."""
    if line.dialect is None and line.reading is None:
        require(
            not _SERVICE_MEMBERS & value.keys(), "has a message with members that are the service's"
        )
        return
    require(is_flat(dict(value)), "has a message that is not flat and stands by itself")
    read_stored(dict(value), *_reading(line))


def _wrapped_answer(line: rows.MessageLine, value: Mapping[str, JsonValue]) -> str | None:
    """Return the id of the call that a wrapped message answers; raise if its form is not ours."""
    dialect, number = _reading(line)
    envelope = {"dialect": dialect, "role": line.role, "message": value.get("message")}
    require([*envelope.items()] == [*value.items()], "has a message that stands in something else")
    message = value["message"]
    require(isinstance(message, dict), "has no message")
    reading = read_stored(message, dialect, number)
    require(reading.role == line.role, "has a message of another role")
    return only_answer(reading)


def _reading(line: rows.MessageLine) -> tuple[str, int]:
    """Return the dialect of a message, and the number of its reading; raise if unknown."""
    is_known = line.dialect in _NAMES and line.reading is not None and line.reading <= READING
    require(is_known, "has a message that was read in a way that is not known here")
    return line.dialect or "", line.reading or 0
