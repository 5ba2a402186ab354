"""What a model is told whose page fault cannot be carried out: what is wrong, what to send instead.

A page id comes out of a model's own words, so it may stand in quotes or in a citation such as
`[ref: img_001]`. It is never taken out of them: the page that it names is told.
"""

import re
from collections.abc import Sequence

from app.errors import Fault, InvalidPayloadError, NotFoundError
from app.models.identity import CLIENT_ID
from app.models.page import Level
from app.rendering.pages import failure_json
from app.rendering.pages.cuts import cut_short
from app.rendering.pages.lines import quoted, quoted_short

_LOOKED_AT_CHARS = 1_000
_MOST_CANDIDATES = 8
_LONGEST_ID_CHARS = 128
_SHOWN_CHARS = 100
_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_ID_RULE = (
    "An id has 1 to 128 letters, digits and . _ : - and begins with a letter or a digit. Send one "
    "as the list of memory pages names it, without quotes or brackets."
)


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


def refused_id(
    page_id: str, existing: Sequence[str], *, level: Level, tool_call_id: str | None
) -> InvalidPayloadError:
    """Return the error for an id that no page can have.

    Args:
        page_id: What was sent as the id.
        existing: The pages it names that are there.
        level: The level that was asked for.
        tool_call_id: The call.
    """
    said = (
        f"{quoted_short(page_id, _SHOWN_CHARS)} is no page id."
        if page_id
        else "The page id is empty."
    )
    error = f"{said} {_instead(existing, level) or _ID_RULE}"
    return InvalidPayloadError(
        "The page id cannot be one; `content` is the tool message for the model.",
        members=failure(page_id, error, tool_call_id),
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


def missing_page(
    page_id: str, existing: Sequence[str], *, level: Level, tool_call_id: str | None
) -> NotFoundError:
    """Return the error for a page that is not there."""
    error = f"There is no page {page_id} in this project."
    if instead := _instead(existing, level):
        error += f" {instead}"
    return NotFoundError("page", members=failure(page_id, error, tool_call_id))


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
