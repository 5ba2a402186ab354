"""The codes of problems that say more than their kind does, for the documentation."""

from collections.abc import Mapping

PROBLEM_SUBCODES: Mapping[str, Mapping[str, str]] = {
    "malformed-request": {
        "malformed-digest": "A `Content-Digest` or `Repr-Digest` header that is none.",
    },
    "not-found": {
        "level-missing": "The page has no such level: nobody supplied it, and nothing gives it.",
        "no-content": "The page holds nothing at this level, so there is no file to download.",
        "no-such-value": "The JSON has nothing where the pointer leads.",
    },
    "conflict": {
        "request-in-flight": "The same request is being worked on; send it again in a moment.",
        "request-superseded": "Another request with the same key took over; send it again.",
        "interaction-answered": "The interaction has another answer already, which is set once.",
        "tool-call-answered": "The tool call has another result already; no other is open.",
        "history-diverged": "The session has something else from a `seq` on; fork it, or read it.",
        "session-moved-on": "Others have written to the session meanwhile; read that first.",
        "frontier-contended": "Others move the frontier all the time; send it again.",
        "page-exists": "A page with this id is there already; PUT replaces it.",
        "session-exists": "A session of the bundle is there already; delete it first.",
        "tool-result-exists": "The same for a tool result of the bundle.",
        "message-exists": "The same for a message of the bundle.",
        "interaction-exists": "The same for an interaction of the bundle.",
        "alias-exists": "An alias of the bundle names another resource here.",
        "alias-taken": "The alias names another resource; `If-Match` moves it, DELETE frees it.",
        "too-many-aliases": "The resource has 1,000 aliases already; delete one first.",
        "page-changed": "The page was changed meanwhile; ask again.",
        "page-contended": "Others change the page all the time; send it again.",
        "resource-in-use": "Something refers to the resource; delete that first.",
        "upload-offset": "The upload goes on at another offset, which HEAD tells.",
        "upload-superseded": "Somebody asked where to go on with the upload; do so as well.",
    },
    "payload-too-large": {
        "json-too-deep": "JSON that is nested deeper than `PAGEFAULT_LIMITS__JSON_DEPTH`.",
        "json-too-large": "JSON with more values than are taken, or too long to be taken apart.",
        "text-too-large": "A body with more text than `PAGEFAULT_LIMITS__TEXT_BYTES`.",
        "too-many-media": "More media than `PAGEFAULT_LIMITS__MEDIA_PER_RESULT` in one result.",
        "too-many-parts": "More parts than `PAGEFAULT_LIMITS__PARTS_PER_RESULT` in one result.",
        "too-many-references": "More references than are replaced in one request.",
        "medium-too-large": "More bytes of media than are put into one answer.",
    },
    "unsupported-media-type": {
        "not-text": "The resource is no text; its bytes are at `/content`.",
    },
    "invalid-payload": {
        "budget-too-small": "What is never left out of a history has more tokens than `maxTokens`.",
        "invalid-alias": "An alias of other characters, or of the form of a resource's id or URI.",
        "idempotency-key-reused": "The key was used for another request; take a new one.",
        "invalid-base64": "What announces base64 is none.",
        "level-is-content": "FULL is the page's content; PUT the page to change it.",
        "level-too-long": "A supplied level does not fit the page any more; supply it anew first.",
        "unknown-parameter": "A name in the query that the route does not take, or one twice.",
        "not-json": "The text of the resource is no JSON; read it by lines.",
    },
    "fetch-blocked": {
        "fetch-too-large": "The file is larger than `PAGEFAULT_FETCH__MAX_BYTES`.",
    },
    "store-unavailable": {
        "blob-missing": "The record is there and its bytes are not; the operator restores them.",
    },
}
"""By the code of a kind, the codes that say more than it does, with a sentence on each.

They stand in `code` of an answer whose `type` leads to the kind. Where they come up is where the
errors are raised; a test sees to it that each of them is here.
"""


def narrower_codes(kind: str) -> Mapping[str, str]:
    """Return the codes of a kind of problem that say more, with a sentence on each."""
    return PROBLEM_SUBCODES.get(kind, {})
