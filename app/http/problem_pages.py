"""The documentation of problem types: `docs/errors.md`, and texts of the page `/docs/errors`."""

import json
from collections.abc import Mapping

from app.http.problem_types import FRAMEWORK_PROBLEM_TYPES, PROBLEM_TYPES, ProblemType

PROBLEM_SUBCODES: Mapping[str, Mapping[str, str]] = {
    "malformed-request": {
        "malformed-digest": "The `Content-Digest` or `Repr-Digest` header is not valid.",
    },
    "not-found": {
        "level-missing": "The page has no such level: it was not supplied and cannot be derived.",
        "no-content": "The page has no content at this level, so there is no file to download.",
        "no-such-value": "The JSON has no value at the pointer.",
    },
    "conflict": {
        "request-in-flight": "The same request is still processed; send it again in a moment.",
        "request-superseded": "Another request with the same key took over; send it again.",
        "interaction-answered": "The interaction has another output already; it is set only once.",
        "tool-call-answered": "The tool call has another result; no other call of its id is open.",
        "history-diverged": "The session has other entries from a `seq` on; fork it, or read it.",
        "session-moved-on": "Other requests have written to the session meanwhile; read it first.",
        "frontier-contended": "Other requests moved the frontier each time; send it again.",
        "page-exists": "A page with this id exists already; PUT replaces it.",
        "session-exists": "A session of the bundle exists already; delete it first.",
        "tool-result-exists": "A tool result with the id of one in the bundle exists.",
        "message-exists": "A message with the id of one in the bundle exists.",
        "interaction-exists": "An interaction with the id of one in the bundle exists.",
        "alias-exists": "An alias of the bundle names another resource here.",
        "alias-taken": "The alias names another resource; `If-Match` moves it, DELETE frees it.",
        "too-many-aliases": "The resource has 1,000 aliases already; delete one first.",
        "page-changed": "The page was changed meanwhile; send the request again.",
        "page-contended": "Other requests changed the page each time; send it again.",
        "no-content-host": "Pages of apps need `PAGEFAULT_CONTENT_URL`, a host of their own.",
        "resource-in-use": "Records refer to the resource; delete them first.",
        "upload-offset": "The upload continues at another offset; HEAD returns it.",
        "upload-superseded": "Another request read the offset of the upload; read it again.",
    },
    "payload-too-large": {
        "json-too-deep": "JSON that is nested deeper than `PAGEFAULT_LIMITS__JSON_DEPTH`.",
        "json-too-large": "JSON with too many values, or too long to be parsed.",
        "text-too-large": "A body with more text than `PAGEFAULT_LIMITS__TEXT_BYTES`.",
        "too-many-media": "More media than `PAGEFAULT_LIMITS__MEDIA_PER_RESULT` in one result.",
        "too-many-parts": "More parts than `PAGEFAULT_LIMITS__PARTS_PER_RESULT` in one result.",
        "too-many-references": "More references than one request may have.",
        "medium-too-large": "More bytes of media than one response may have.",
    },
    "unsupported-media-type": {
        "not-text": "The resource is not text; its bytes are at `/content`.",
    },
    "invalid-payload": {
        "budget-too-small": "The entries that are never evicted have more tokens than `maxTokens`.",
        "invalid-compaction": "A compaction item of another project, or one that was changed.",
        "expired-compaction": "A compaction item that is 30 days old, or whose session is deleted.",
        "invalid-alias": "An alias with invalid characters, or in the form of a resource's id.",
        "idempotency-key-reused": "The key was used for another request; take a new one.",
        "invalid-base64": "Data that is declared as base64 is not valid base64.",
        "level-is-content": "FULL is the page's content; PUT the page to change it.",
        "level-too-long": "A supplied level does not fit the page any more; supply it again first.",
        "unknown-parameter": "The query has an unknown parameter, or the same parameter twice.",
        "not-json": "The text of the resource is not JSON; read it by lines.",
    },
    "fetch-blocked": {
        "fetch-too-large": "The file is larger than `PAGEFAULT_FETCH__MAX_BYTES`.",
    },
    "store-unavailable": {
        "blob-missing": "The bytes of an existing record are missing; the operator restores them.",
    },
}
"""The narrower codes of each problem type, with a sentence on each.

A response has the narrower code in `code`, and the problem type in `type`. A test checks that every
raised code has a sentence here.
"""


def get_subcodes(type_code: str) -> Mapping[str, str]:
    """Return the narrower codes of a problem type, with a sentence on each; may be empty."""
    return PROBLEM_SUBCODES.get(type_code, {})


def list_problem_types() -> tuple[ProblemType, ...]:
    """Return all problem types that the service sends, ordered by status."""
    kinds = {
        kind.code: kind for kind in (*PROBLEM_TYPES.values(), *FRAMEWORK_PROBLEM_TYPES.values())
    }
    return tuple(sorted(kinds.values(), key=lambda kind: kind.status))


def format_errors_markdown() -> str:
    """Return the text of `docs/errors.md`, with a section for each problem type."""
    sections = [
        f"## {kind.code}\n\n**{kind.status}** · {kind.title}\n\n{kind.meaning}\n"
        f"{_format_codes(kind)}"
        for kind in list_problem_types()
    ]
    example = json.dumps(_EXAMPLE, indent=2, ensure_ascii=False)
    rows = "".join(f"| {statuses} | {advice} |\n" for statuses, advice in ADVICE_BY_STATUS)
    advice = (
        f"```json\n{example}\n```\n\n{_MEMBERS_TEXT}\n\n| status | what to do |\n|---|---|\n{rows}"
    )
    return "\n".join(["# Errors\n", f"{INTRODUCTION}\n", advice, *sections])


def _format_codes(kind: ProblemType) -> str:
    lines = [f"- `{code}`: {meaning}\n" for code, meaning in get_subcodes(kind.code).items()]
    return "".join(["\n", *lines]) if lines else ""


INTRODUCTION = (
    "Every error is `application/problem+json` (RFC 9457) with `type`, `title`, `status`, "
    "`detail`, `instance`, `code` and `requestId`. If parts of the request are wrong, `errors` "
    "lists each with a `pointer` and a `detail`. `type` leads to a section of this page; `code` "
    "is the name of that section, or one of the narrower codes in its list."
)

ADVICE_BY_STATUS = (
    (
        "400, 405, 413, 415, 416, 422, 431",
        "The request is wrong. Do not repeat it; change what `detail` and `errors` name.",
    ),
    (
        "401, 403",
        "Send a valid key, or ask for a new signed link. A web page needs its origin in "
        "`PAGEFAULT_CORS_ORIGINS`.",
    ),
    (
        "404, 410",
        "The project of the key has no such record, or no longer. Do not repeat the request.",
    ),
    (
        "409",
        "The request contradicts what is stored. Read what is stored, and decide. Repeat it only "
        "if the code below says so.",
    ),
    ("412", "Read the current ETag (or the version of the protocol), and decide again."),
    ("421", "Use another host name, or have it added to `PAGEFAULT_ALLOWED_HOSTS`."),
    ("408, 460, 502, 504", "Repeat the request."),
    (
        "429, 503",
        "Repeat the request after the seconds in `Retry-After`. A write is not stored twice if "
        "it names the same tool call, `Idempotency-Key` or id. `store-misconfigured` and "
        "`blob-missing` need the operator.",
    ),
    ("500", "An error in the service. Report it with the `requestId`."),
    ("507", "There is no room left. Reads still work. Delete something, or ask the operator."),
)
"""Pairs of statuses and the advice on errors with these statuses."""

_EXAMPLE = {
    "type": "/docs/errors#invalid-payload",
    "title": "The request is not what the route takes",
    "status": 422,
    "detail": "The body is not a tool result: it takes toolName, toolCallId, result, and "
    "optionally success, sessionId and callMessage.",
    "instance": "/api/tool-results",
    "code": "invalid-payload",
    "requestId": "01a207b2-6279-7467-9257-f7b8a726f881",
    "errors": [{"pointer": "/toolCallId", "detail": "Field required"}],
}

_MEMBERS_TEXT = (
    "`pointer` is a JSON pointer (RFC 6901) into the body; `/query/…`, `/path/…` and `/header/…` "
    "are the other parts of the request. Of the items of a list, the first wrong one is named; "
    "there may be more. Programs should read `status` and `code`; `detail` is for people and may "
    "change. The log has the `requestId` too."
)
