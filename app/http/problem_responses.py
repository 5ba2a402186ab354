"""Answers that are problem documents (RFC 9457), without the framework that routes requests.

See `app.http.problems`. A listening proxy sends such answers too, without FastAPI.
"""

import re
from collections.abc import Mapping
from urllib.parse import quote

from starlette.responses import Response

from app.errors import QuotaExceededError, RangeNotSatisfiableError
from app.http.problem_types import ProblemType, problem_type
from app.wire.problem import PROBLEM_MEDIA_TYPE, Problem, problem_faults
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.text_windows import without_lone_surrogates

_MAX_INSTANCE_LENGTH = 512


def problem_response(
    error: PagefaultError,
    *,
    instance: str,
    request_id: str,
    kind: ProblemType | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer to an error, for handlers and for code outside of their reach.

    The traceback of the error is removed. Errors from threads form a cycle with it, so the frames,
    and with them the body of the request, would stay in memory until the next garbage collection.

    Args:
        error: What went wrong.
        instance: The path of the request, decoded, without its query.
        request_id: The id of the request in the log.
        kind: The kind of problem; by default, that of the error's class.
        headers: Further headers.
    """
    error.__traceback__ = None
    kind = kind or problem_type(type(error))
    all_headers = {**kind.headers, **(headers or {})}
    if isinstance(error, RangeNotSatisfiableError):
        all_headers["Content-Range"] = f"bytes */{error.size_bytes}"
    if isinstance(error, QuotaExceededError):
        all_headers["Retry-After"] = str(error.retry_after_seconds)
    problem = Problem(
        type=kind.type,
        title=kind.title,
        status=kind.status,
        detail=without_lone_surrogates(error.detail),
        instance=_instance_reference(instance),
        code=error.problem_code,
        request_id=without_lone_surrogates(request_id),
        errors=problem_faults(error.faults, every=error.tells_every_fault),
    )
    return Response(
        problem.json_bytes(error.members),
        status_code=kind.status,
        headers={
            **all_headers,
            "Content-Type": PROBLEM_MEDIA_TYPE,
            # Without this, caches may store a 404 (RFC 9110 §15.1).
            "Cache-Control": "no-store",
        },
    )


def _instance_reference(path: str) -> str:
    reference = quote(path, safe="/:@!$&'()*+,;=", errors="replace")[:_MAX_INSTANCE_LENGTH]
    # A cut may leave an escape without its digits, and the whole would be no reference any more.
    return re.sub(r"%[0-9A-F]?\Z", "", reference)
