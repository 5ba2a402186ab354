"""Answers to conditional reads: a 304 to those who have the record already (RFC 9110 §13)."""

from collections.abc import Mapping

from fastapi import Request, Response

from app.http.conditions import evaluate_conditions, joined_fields
from app.http.response_headers import not_modified


def unchanged_response(request: Request, headers: Mapping[str, str]) -> Response | None:
    """Return the 304 to a GET or HEAD of a record that the caller has already, if that is so.

    Args:
        request: The request; of other methods, conditions are not judged.
        headers: The headers of the record, with its `ETag`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    has_condition = any(name[:3] == b"if-" for name, _ in request.scope["headers"])
    if not has_condition or request.method not in ("GET", "HEAD"):
        return None
    is_known = evaluate_conditions(
        joined_fields(request.headers),
        method=request.method,
        etag=headers["ETag"],
        last_modified=None,
    )
    return not_modified(headers) if is_known else None
