"""Requests for page faults, as models make them, and the answers to those that are refused.

A refusal says why, and what to send instead. A page id that is quoted or part of a citation
(`[ref: img_001]`) is not used; the refusal names the page.
"""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import ConfigDict, Field, ValidationError

from app.errors import NotFoundError
from app.models.call_ids import LONGEST_CALL_ID, CallId
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.base import ClientId, Count, FrozenModel, faults_of
from pagefault_dialects.model.client_ids import CLIENT_ID
from pagefault_dialects.model.page import Level, LevelInput, PageForm
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.pages.one_line import quoted, quoted_short
from pagefault_dialects.pages.typed_content import failure_json
from pagefault_dialects.texts.cuts import cut_short

_LOOKED_AT_CHARS = 1_000
_MOST_CANDIDATES = 8
_LONGEST_ID_CHARS = 128
_SHOWN_CHARS = 100
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_ID_RULE = (
    "An id has 1 to 128 letters, digits and . _ : - and begins with a letter or a digit. Send one "
    "as the list of memory pages names it, without quotes or brackets."
)


class FaultRequest(FrozenModel):
    """What a model asks for when it faults a page in."""

    model_config = ConfigDict(
        strict=True,
        json_schema_extra={
            "examples": [{"target_level": 0, "session_id": "demo", "tool_call_id": "call_abc"}]
        },
    )

    target_level: LevelInput = Level.ABSTRACT
    session_id: ClientId | None = None
    tool_call_id: CallId | None = None
    max_chars: Annotated[int | None, Field(ge=1)] = None
    offset: Count = 0
    detail: ImageDetail = "low"
    form: Annotated[
        PageForm,
        Field(description="`json`: `content` is one JSON string with the page in it."),
    ] = "blocks"


def read_fault_request(value: JsonValue, page_id: str, form: str | None) -> FaultRequest:
    """Return a page fault from the body of its request, and from the query, which may say the form.

    Args:
        value: The body.
        page_id: The page that is faulted in, for what a model is told.
        form: What `?form=` says; the body may repeat it.

    Raises:
        InvalidPayloadError: It is none; the answer has a tool message.
    """
    call = value.get("tool_call_id") if isinstance(value, dict) else None
    tool_call_id = call if isinstance(call, str) and 0 < len(call) <= LONGEST_CALL_ID else None
    try:
        request = FaultRequest.model_validate(value)
    except ValidationError as exc:
        raise refused_arguments(page_id, faults_of(exc), tool_call_id=tool_call_id) from exc
    if form is None:
        return request
    if "form" in request.model_fields_set and request.form != form:
        faults = [Fault("/form", "is another one than `?form=` says; send one of them")]
        raise refused_arguments(page_id, faults, tool_call_id=tool_call_id)
    return request.model_copy(update={"form": form})


def is_page_id(text: str) -> bool:
    """Return whether a text could be the id of a page."""
    return CLIENT_ID.match(text) is not None


def named_ids(text: str) -> list[str]:
    """Return the ids that may stand in a text that is none, a few of them, in their order.

    Each is a run of the characters of ids, and what stands in it behind a prefix such as `ref:`;
    punctuation at its end is also left out.
    """
    ids: dict[str, None] = {}
    for token in _TOKEN.findall(text[:_LOOKED_AT_CHARS]):
        for named in (token, token.partition(":")[2]):
            for candidate in (named, named.rstrip("._:-")):
                if candidate != text and is_page_id(candidate):
                    ids[candidate] = None
        if len(ids) >= _MOST_CANDIDATES:
            break
    return [*ids][:_MOST_CANDIDATES]


def no_page(
    page_id: str, existing: Sequence[str], request: FaultRequest
) -> InvalidPayloadError | NotFoundError:
    """Return the error for an id that no page has, or none can have; it names pages that are."""
    instead = _instead(existing, request.target_level)
    if is_page_id(page_id):
        error = f"There is no page {page_id} in this project."
        error += f" {instead}" if instead else ""
        return NotFoundError("page", members=failure(page_id, error, request.tool_call_id))
    said = (
        f"{quoted_short(page_id, _SHOWN_CHARS)} is no page id."
        if page_id
        else "The page id is empty."
    )
    error = f"{said} {instead or _ID_RULE}"
    return InvalidPayloadError(
        "The page id cannot be one; `content` is the tool message for the model.",
        members=failure(page_id, error, request.tool_call_id),
        faults=[Fault("/path/page_id", "must be the id of a page, without anything around it")],
    )


def refused_arguments(
    page_id: str, faults: Sequence[Fault], *, tool_call_id: str | None
) -> InvalidPayloadError:
    """Return the error for a call whose arguments do not fit."""
    wrong = ", and ".join(
        f"{fault.pointer[1:] or 'the body'}: {fault.detail}" for fault in faults[:3]
    )
    call = f"page_fault({quoted(page_id)}, target_level=0)" if is_page_id(page_id) else ""
    instead = f" For the full content, send {call}." if call else ""
    return InvalidPayloadError(
        "The body is not what the route takes; `errors` says where.",
        members=failure(page_id, f"The page was not faulted in. {wrong}.{instead}", tool_call_id),
        faults=faults,
    )


def failure(page_id: str, error: str, tool_call_id: str | None) -> dict[str, object]:
    """Return the members of a problem that are the tool message and the failure result in it."""
    shown = cut_short(page_id, _LONGEST_ID_CHARS)
    return {
        "success": False,
        "page_id": shown,
        "error": error,
        "role": "tool",
        "tool_call_id": tool_call_id,
        "content": failure_json(shown, error),
    }


def _instead(existing: Sequence[str], level: Level) -> str | None:
    if not existing:
        return None
    calls = [f"page_fault({quoted(each)}, target_level={int(level)})" for each in existing]
    if len(calls) == 1:
        return f"Page {existing[0]} is there: send {calls[0]}."
    return f"These pages are there, one for each call: {', '.join(calls)}."
