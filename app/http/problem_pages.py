"""The documentation of problems: every kind of them, and `docs/errors.md`."""

import json

from app.http.problem_codes import narrower_codes
from app.http.problem_types import FRAMEWORK_KINDS, KINDS, ProblemType


def documented_problems() -> tuple[ProblemType, ...]:
    """Return every kind of problem the service answers with, by status, each once."""
    kinds = {kind.code: kind for kind in (*KINDS.values(), *FRAMEWORK_KINDS.values())}
    return tuple(sorted(kinds.values(), key=lambda kind: kind.status))


def problems_markdown() -> str:
    """Return the text of `docs/errors.md`: a section for each kind, headed by its code."""
    sections = [
        f"## {kind.code}\n\n**{kind.status}** · {kind.title}\n\n{kind.meaning}\n{_narrower(kind)}"
        for kind in documented_problems()
    ]
    return "\n".join(["# Errors\n", f"{INTRODUCTION}\n", _advice(), *sections])


def _advice() -> str:
    """Return an example of an error, and what to do about each status."""
    example = json.dumps(EXAMPLE, indent=2, ensure_ascii=False)
    rows = "".join(f"| {statuses} | {advice} |\n" for statuses, advice in WHAT_TO_DO)
    return f"```json\n{example}\n```\n\n{ON_MEMBERS}\n\n| status | what to do |\n|---|---|\n{rows}"


def _narrower(kind: ProblemType) -> str:
    lines = [f"- `{code}`: {meaning}\n" for code, meaning in narrower_codes(kind.code).items()]
    return "".join(["\n", *lines]) if lines else ""


INTRODUCTION = (
    "Every error is `application/problem+json` (RFC 9457) with `type`, `title`, `status`, "
    "`detail`, `instance`, `code` and `requestId`. If parts of the request are wrong, `errors` "
    "lists each with a `pointer` and a `detail`. `type` leads to a section of this page; `code` "
    "is the name of that section, or one of the narrower codes in its list."
)

WHAT_TO_DO = (
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
        "It does not exist in the project of the key, or no longer. Do not repeat the request.",
    ),
    (
        "409",
        "The request contradicts what is stored. Read what is stored, and decide. Repeat it only "
        "if the code below says so.",
    ),
    ("412", "Read the present ETag (or the version of the protocol), and decide again."),
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
"""The advice on errors, by their statuses."""

EXAMPLE = {
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

ON_MEMBERS = (
    "`pointer` is a JSON pointer (RFC 6901) into the body; `/query/…`, `/path/…` and `/header/…` "
    "are the other parts of the request. Of the items of a list, the first wrong one is named; "
    "there may be more. Programs should read `status` and `code`; `detail` is for people and may "
    "change. The log has the `requestId` too."
)
