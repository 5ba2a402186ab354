"""The narrower codes of problems, with their documentation."""

from collections.abc import Mapping

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
        "interaction-answered": "The interaction has another answer already, which is set once.",
        "tool-call-answered": "The tool call has another result already; no other is open.",
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
        "medium-too-large": "More bytes of media than one answer may have.",
    },
    "unsupported-media-type": {
        "not-text": "The resource is not text; its bytes are at `/content`.",
    },
    "invalid-payload": {
        "budget-too-small": "The entries that are never evicted have more tokens than `maxTokens`.",
        "invalid-alias": "An alias of other characters, or of the form of a resource's id or URI.",
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
"""The narrower codes of each kind of problem, with a sentence on each.

An answer has them in `code`, while its `type` refers to the kind. A test checks that every raised
code has a sentence here.
"""


def narrower_codes(kind: str) -> Mapping[str, str]:
    """Return the narrower codes of a kind of problem, with a sentence on each."""
    return PROBLEM_SUBCODES.get(kind, {})
