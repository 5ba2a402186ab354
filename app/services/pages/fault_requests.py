"""Requests for page faults, and errors that a model can read.

An error gives the reason, and the call to send instead. A page id in quotes or in a citation
(`[ref: img_001]`) is refused, and the error names the page.
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

_SCANNED_CHARS = 1_000
_MOST_CANDIDATES = 8
_LONGEST_ID_CHARS = 128
_QUOTED_CHARS = 100
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_ID_RULE = (
    "An id has 1 to 128 letters, digits and . _ : - and begins with a letter or a digit. Send one "
    "as the list of memory pages names it, without quotes or brackets."
)


class FaultRequest(FrozenModel):
    """The request of a page fault."""

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
    """Return a page fault from the body and the query of its request.

    Args:
        value: The body.
        page_id: The id of the page, for the tool message of an error.
        form: The form in the query; the body may repeat it.

    Raises:
        InvalidPayloadError: The request is invalid; the error has a tool message.
    """
    call = value.get("tool_call_id") if isinstance(value, dict) else None
    tool_call_id = call if isinstance(call, str) and 0 < len(call) <= LONGEST_CALL_ID else None
    try:
        request = FaultRequest.model_validate(value)
    except ValidationError as exc:
        raise argument_error(page_id, faults_of(exc), tool_call_id=tool_call_id) from exc
    if form is None:
        return request
    if "form" in request.model_fields_set and request.form != form:
        faults = [Fault("/form", "is another one than `?form=` says; send one of them")]
        raise argument_error(page_id, faults, tool_call_id=tool_call_id)
    return request.model_copy(update={"form": form})


def is_page_id(text: str) -> bool:
    """Return whether a text is a valid page id."""
    return CLIENT_ID.match(text) is not None


def named_ids(text: str) -> list[str]:
    """Return the first few possible page ids in a text that is no id.

    A candidate is a run of id characters, with and without a prefix such as `ref:`, and with and
    without punctuation at its end.
    """
    ids: dict[str, None] = {}
    for token in _TOKEN.findall(text[:_SCANNED_CHARS]):
        for named in (token, token.partition(":")[2]):
            for candidate in (named, named.rstrip("._:-")):
                if candidate != text and is_page_id(candidate):
                    ids[candidate] = None
        if len(ids) >= _MOST_CANDIDATES:
            break
    return [*ids][:_MOST_CANDIDATES]


def missing_page_error(
    page_id: str, existing: Sequence[str], request: FaultRequest
) -> InvalidPayloadError | NotFoundError:
    """Return the error for an unknown or invalid page id; it names existing pages."""
    instead = _suggest_calls(existing, request.target_level)
    if is_page_id(page_id):
        error = f"There is no page {page_id} in this project."
        error += f" {instead}" if instead else ""
        return NotFoundError("page", members=failure(page_id, error, request.tool_call_id))
    reason = (
        f"{quoted_short(page_id, _QUOTED_CHARS)} is no page id."
        if page_id
        else "The page id is empty."
    )
    error = f"{reason} {instead or _ID_RULE}"
    return InvalidPayloadError(
        "The page id cannot be one; `content` is the tool message for the model.",
        members=failure(page_id, error, request.tool_call_id),
        faults=[Fault("/path/page_id", "must be the id of a page, without anything around it")],
    )


def argument_error(
    page_id: str, faults: Sequence[Fault], *, tool_call_id: str | None
) -> InvalidPayloadError:
    """Return the error for invalid arguments of a call."""
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
    """Return the members of a problem that make up the tool message of a failure."""
    short_id = cut_short(page_id, _LONGEST_ID_CHARS)
    return {
        "success": False,
        "page_id": short_id,
        "error": error,
        "role": "tool",
        "tool_call_id": tool_call_id,
        "content": failure_json(short_id, error),
    }


def _suggest_calls(existing: Sequence[str], level: Level) -> str | None:
    if not existing:
        return None
    calls = [f"page_fault({quoted(each)}, target_level={int(level)})" for each in existing]
    if len(calls) == 1:
        return f"Page {existing[0]} is there: send {calls[0]}."
    return f"These pages are there, one for each call: {', '.join(calls)}."
