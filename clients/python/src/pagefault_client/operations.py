"""A function for each operation, which makes a `Call` and sends nothing."""

# Written by generate.py from openapi/openapi.json.
from typing import Literal

import httpx

from pagefault_client import models
from pagefault_client.calls import (
    Body,
    Call,
    bytes_of,
    headers_of,
    json_of,
    nothing_of,
    segment,
    text_of,
)


def list_tool_results(
    *, session_id: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[models.ToolResultPage]:
    """List tool results, newest first; of one session, if one is named."""
    return Call(
        "GET",
        "/api/tool-results",
        decode=json_of,
        query={
            "sessionId": session_id,
            "limit": limit,
            "cursor": cursor,
        },
        is_repeatable=True,
    )


def create_tool_result(
    body: models.ToolResultRequest,
    *,
    render: models.Target | None = None,
    new_call: bool | None = None,
    handles: bool | None = None,
    max_text: int | None = None,
    max_image_pixels: int | None = None,
    count_tokens: bool | None = None,
    idempotency_key: str | None = None,
) -> Call[models.RenderedToolResult]:
    """Store the output of a tool, in any shape, and return its canonical record."""
    return Call(
        "POST",
        "/api/tool-results",
        decode=json_of,
        query={
            "render": render,
            "newCall": new_call,
            "handles": handles,
            "maxText": max_text,
            "maxImagePixels": max_image_pixels,
            "countTokens": count_tokens,
        },
        headers={
            "Idempotency-Key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def get_tool_result(tool_result_id: str | int) -> Call[models.ToolResultRecord]:
    """Read a record: the stored bytes, with a strong ETag."""
    return Call(
        "GET", f"/api/tool-results/{segment(tool_result_id)}", decode=json_of, is_repeatable=True
    )


def list_resources(
    *, limit: int | None = None, cursor: str | None = None
) -> Call[models.ResourcePage]:
    """List resources, newest first."""
    return Call(
        "GET",
        "/api/resources",
        decode=json_of,
        query={
            "limit": limit,
            "cursor": cursor,
        },
        is_repeatable=True,
    )


def create_resource(
    body: Body,
    *,
    filename: str | None = None,
    alias: str | None = None,
    repr_digest: str | None = None,
) -> Call[models.ResourceRecord]:
    """Store a file: a raw body, or the one file of a multipart form.

    It is streamed to the store.
    """
    return Call(
        "POST",
        "/api/resources",
        decode=json_of,
        query={
            "filename": filename,
            "alias": alias,
        },
        headers={
            "Repr-Digest": repr_digest,
        },
        content=body,
        content_type="application/octet-stream",
        is_repeatable=True,
    )


def get_resource(uri: str | int) -> Call[models.ResourceRecord]:
    """Read a descriptor."""
    return Call("GET", f"/api/resources/{segment(uri)}", decode=json_of, is_repeatable=True)


def head_resource(uri: str | int) -> Call[httpx.Headers]:
    """Read a descriptor."""
    return Call("HEAD", f"/api/resources/{segment(uri)}", decode=headers_of, is_repeatable=True)


def delete_resource(uri: str | int) -> Call[None]:
    """Delete a resource without references; a 409 lists the records that refer to it."""
    return Call("DELETE", f"/api/resources/{segment(uri)}", decode=nothing_of, is_repeatable=True)


def create_signed_url(
    uri: str | int, body: models.SignedUrlRequest | None = None
) -> Call[models.SignedUrl]:
    """Create a link that needs no key and expires soon, for `<img>`, `<video>` and the like."""
    return Call(
        "POST",
        f"/api/resources/{segment(uri)}/signed-url",
        decode=json_of,
        json=body,
        is_repeatable=True,
    )


def get_resource_content(
    uri: str | int,
    *,
    token: str | None = None,
    download: bool | None = None,
    filename: str | None = None,
    want_repr_digest: str | None = None,
    range: str | None = None,
    if_range: str | None = None,
) -> Call[bytes]:
    """Read the bytes: whole, in ranges, or only if they changed (RFC 9110)."""
    return Call(
        "GET",
        f"/api/resources/{segment(uri)}/content",
        decode=bytes_of,
        query={
            "token": token,
            "download": download,
            "filename": filename,
        },
        headers={
            "Want-Repr-Digest": want_repr_digest,
            "Range": range,
            "If-Range": if_range,
        },
        is_repeatable=True,
    )


def head_resource_content(
    uri: str | int,
    *,
    token: str | None = None,
    download: bool | None = None,
    filename: str | None = None,
    want_repr_digest: str | None = None,
) -> Call[httpx.Headers]:
    """Read the bytes: whole, in ranges, or only if they changed (RFC 9110)."""
    return Call(
        "HEAD",
        f"/api/resources/{segment(uri)}/content",
        decode=headers_of,
        query={
            "token": token,
            "download": download,
            "filename": filename,
        },
        headers={
            "Want-Repr-Digest": want_repr_digest,
        },
        is_repeatable=True,
    )


def get_resource_text(
    uri: str | int,
    *,
    lines: str | None = None,
    grep: str | None = None,
    ignore_case: bool | None = None,
    context: int | None = None,
    pointer: str | None = None,
) -> Call[models.TextPiece]:
    """Read a part of a text: a range of lines, the lines that match a text, or a value of its
    JSON.
    """
    return Call(
        "GET",
        f"/api/resources/{segment(uri)}/text",
        decode=json_of,
        query={
            "lines": lines,
            "grep": grep,
            "ignoreCase": ignore_case,
            "context": context,
            "pointer": pointer,
        },
        is_repeatable=True,
    )


def get_resource_poster(
    uri: str | int,
    *,
    optional: bool | None = None,
    want_repr_digest: str | None = None,
    range: str | None = None,
    if_range: str | None = None,
) -> Call[bytes]:
    """Read the first key frame of a video as a JPEG of at most 1,280 pixels a side."""
    return Call(
        "GET",
        f"/api/resources/{segment(uri)}/poster",
        decode=bytes_of,
        query={
            "optional": optional,
        },
        headers={
            "Want-Repr-Digest": want_repr_digest,
            "Range": range,
            "If-Range": if_range,
        },
        is_repeatable=True,
    )


def list_aliases(
    *, uri: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[models.AliasPage]:
    """List aliases with the resources they name, newest first."""
    return Call(
        "GET",
        "/api/aliases",
        decode=json_of,
        query={
            "uri": uri,
            "limit": limit,
            "cursor": cursor,
        },
        is_repeatable=True,
    )


def get_alias(alias: str | int) -> Call[models.AliasRecord]:
    """Read the resource of an alias, with its descriptor."""
    return Call("GET", f"/api/aliases/{segment(alias)}", decode=json_of, is_repeatable=True)


def put_alias(
    alias: str | int,
    body: models.AliasDraft,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[models.AliasRecord]:
    """Give a resource an alias, by which attachments of interactions may name it."""
    return Call(
        "PUT",
        f"/api/aliases/{segment(alias)}",
        decode=json_of,
        headers={
            "If-Match": if_match,
            "If-None-Match": if_none_match,
        },
        json=body,
        is_repeatable=True,
    )


def delete_alias(alias: str | int, *, if_match: str | None = None) -> Call[None]:
    """Remove an alias. The resource and the interactions that were written with it stay."""
    return Call(
        "DELETE",
        f"/api/aliases/{segment(alias)}",
        decode=nothing_of,
        headers={
            "If-Match": if_match,
        },
        is_repeatable=True,
    )


def list_pages(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    session_id: str | None = None,
    modality: models.Modality | None = None,
    page_type: models.PageType | None = None,
    pinned: bool | None = None,
    level: models.LevelName | None = None,
) -> Call[models.PageList]:
    """List pages, newest first, without their contents. `level` selects pages by their level."""
    return Call(
        "GET",
        "/api/pages",
        decode=json_of,
        query={
            "limit": limit,
            "cursor": cursor,
            "session_id": session_id,
            "modality": modality,
            "page_type": page_type,
            "pinned": pinned,
            "level": level,
        },
        is_repeatable=True,
    )


def create_page(
    body: models.PageDraft, *, idempotency_key: str | None = None
) -> Call[models.PageRecord]:
    """Create a page. It gets a new id, unless the body has one that no other page has."""
    return Call(
        "POST",
        "/api/pages",
        decode=json_of,
        headers={
            "Idempotency-Key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def search_pages(
    *,
    q: str,
    limit: int | None = None,
    cursor: str | None = None,
    session_id: str | None = None,
    modality: models.Modality | None = None,
) -> Call[models.SearchHits]:
    """Search hint, caption, transcript, scenes and text of pages; best match first."""
    return Call(
        "GET",
        "/api/pages/search",
        decode=json_of,
        query={
            "q": q,
            "limit": limit,
            "cursor": cursor,
            "session_id": session_id,
            "modality": modality,
        },
        is_repeatable=True,
    )


def create_pages(body: models.PageBatch) -> Call[models.CreatedPages]:
    """Create up to 1,000 pages in one transaction: all of them, or none."""
    return Call("POST", "/api/pages/bulk", decode=json_of, json=body)


def get_page(
    page_id: str | int, *, media: models.MediaForm | None = None
) -> Call[models.PageRecord]:
    """Read a page. Its ETag covers everything except the access counters."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}",
        decode=json_of,
        query={
            "media": media,
        },
        is_repeatable=True,
    )


def head_page(page_id: str | int, *, media: models.MediaForm | None = None) -> Call[httpx.Headers]:
    """Read a page. Its ETag covers everything except the access counters."""
    return Call(
        "HEAD",
        f"/api/pages/{segment(page_id)}",
        decode=headers_of,
        query={
            "media": media,
        },
        is_repeatable=True,
    )


def put_page(
    page_id: str | int,
    body: models.PageDraft,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[models.PageRecord]:
    """Create a page, or replace it. Supplied levels stay as long as the content does."""
    return Call(
        "PUT",
        f"/api/pages/{segment(page_id)}",
        decode=json_of,
        headers={
            "If-Match": if_match,
            "If-None-Match": if_none_match,
        },
        json=body,
        is_repeatable=True,
    )


def patch_page(
    page_id: str | int, body: models.PagePatch, *, if_match: str | None = None
) -> Call[models.PageRecord]:
    """Change the descriptor of a page by a merge patch (RFC 7396); its content stays."""
    return Call(
        "PATCH",
        f"/api/pages/{segment(page_id)}",
        decode=json_of,
        headers={
            "If-Match": if_match,
        },
        json=body,
        content_type="application/merge-patch+json",
        is_repeatable=True,
    )


def delete_page(page_id: str | int, *, if_match: str | None = None) -> Call[None]:
    """Delete a page with its levels. Entries of a session's history about it stay."""
    return Call(
        "DELETE",
        f"/api/pages/{segment(page_id)}",
        decode=nothing_of,
        headers={
            "If-Match": if_match,
        },
        is_repeatable=True,
    )


def get_page_content(
    page_id: str | int,
    *,
    media: models.MediaForm | None = None,
    level: models.LevelName | None = None,
) -> Call[models.PageContent]:
    """Read the content of a page at a level, typed by its modality."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}/content",
        decode=json_of,
        query={
            "media": media,
            "level": level,
        },
        is_repeatable=True,
    )


def get_page_blocks(
    page_id: str | int,
    *,
    form: models.PageForm | None = None,
    level: models.LevelName | None = None,
    media: models.MediaForm | None = None,
    detail: models.ImageDetail | None = None,
    max_chars: int | None = None,
    offset: int | None = None,
) -> Call[models.PageBlocksRecord]:
    """Read a page as the content of a tool message: an image with its annotation, or text."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}/blocks",
        decode=json_of,
        query={
            "form": form,
            "level": level,
            "media": media,
            "detail": detail,
            "max_chars": max_chars,
            "offset": offset,
        },
        is_repeatable=True,
    )


def fault_page(
    page_id: str | int,
    body: models.FaultRequest | None = None,
    *,
    form: models.PageForm | None = None,
) -> Call[models.PageToolMessage]:
    """Fault a page in: the tool message that puts it before a model."""
    return Call(
        "POST",
        f"/api/pages/{segment(page_id)}/fault",
        decode=json_of,
        query={
            "form": form,
        },
        json=body,
    )


def download_page(
    page_id: str | int,
    *,
    level: models.LevelName | None = None,
    want_repr_digest: str | None = None,
    range: str | None = None,
    if_range: str | None = None,
) -> Call[bytes]:
    """Download a page as a file, by default its FULL level."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}/download",
        decode=bytes_of,
        query={
            "level": level,
        },
        headers={
            "Want-Repr-Digest": want_repr_digest,
            "Range": range,
            "If-Range": if_range,
        },
        is_repeatable=True,
    )


def head_page_download(
    page_id: str | int,
    *,
    level: models.LevelName | None = None,
    want_repr_digest: str | None = None,
) -> Call[httpx.Headers]:
    """Download a page as a file, by default its FULL level."""
    return Call(
        "HEAD",
        f"/api/pages/{segment(page_id)}/download",
        decode=headers_of,
        query={
            "level": level,
        },
        headers={
            "Want-Repr-Digest": want_repr_digest,
        },
        is_repeatable=True,
    )


def get_page_representation(page_id: str | int, level: str | int) -> Call[models.PageLevelRecord]:
    """Read one level as it is stored, and whether it was stored, supplied or derived."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}/representations/{segment(level)}",
        decode=json_of,
        is_repeatable=True,
    )


def put_page_representation(
    page_id: str | int,
    level: str | int,
    body: models.RepresentationDraft,
    *,
    if_match: str | None = None,
) -> Call[models.PageLevelRecord]:
    """Supply a level above FULL: a summary, a transcript, a caption, or a smaller image."""
    return Call(
        "PUT",
        f"/api/pages/{segment(page_id)}/representations/{segment(level)}",
        decode=json_of,
        headers={
            "If-Match": if_match,
        },
        json=body,
        is_repeatable=True,
    )


def delete_page_representation(
    page_id: str | int, level: str | int, *, if_match: str | None = None
) -> Call[None]:
    """Remove a supplied level. It is derived again if that is possible."""
    return Call(
        "DELETE",
        f"/api/pages/{segment(page_id)}/representations/{segment(level)}",
        decode=nothing_of,
        headers={
            "If-Match": if_match,
        },
        is_repeatable=True,
    )


def search(
    *,
    q: str,
    kinds: str | None = None,
    session_id: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[models.SearchResults]:
    """Search pages, tool results, messages, interactions and file names; best match first."""
    return Call(
        "GET",
        "/api/search",
        decode=json_of,
        query={
            "q": q,
            "kinds": kinds,
            "sessionId": session_id,
            "limit": limit,
            "cursor": cursor,
        },
        is_repeatable=True,
    )


def list_sessions(
    *, q: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[models.SessionPage]:
    """List sessions, the one last written to first, with their counts and sizes."""
    return Call(
        "GET",
        "/api/sessions",
        decode=json_of,
        query={
            "q": q,
            "limit": limit,
            "cursor": cursor,
        },
        is_repeatable=True,
    )


def get_session(session_id: str | int) -> Call[models.SessionRecord]:
    """Read a session: counts, bytes referenced, bytes saved compared with inline storage."""
    return Call("GET", f"/api/sessions/{segment(session_id)}", decode=json_of, is_repeatable=True)


def head_session(session_id: str | int) -> Call[httpx.Headers]:
    """Read a session: counts, bytes referenced, bytes saved compared with inline storage."""
    return Call(
        "HEAD", f"/api/sessions/{segment(session_id)}", decode=headers_of, is_repeatable=True
    )


def put_session(
    session_id: str | int, *, if_match: str | None = None, if_none_match: str | None = None
) -> Call[models.SessionRecord]:
    """Create an empty session.

    This is optional, since the first write creates a session as well.
    """
    return Call(
        "PUT",
        f"/api/sessions/{segment(session_id)}",
        decode=json_of,
        headers={
            "If-Match": if_match,
            "If-None-Match": if_none_match,
        },
        is_repeatable=True,
    )


def delete_session(session_id: str | int) -> Call[models.DeletionReceipt]:
    """Delete a session with its history and its pages, in one transaction."""
    return Call(
        "DELETE", f"/api/sessions/{segment(session_id)}", decode=json_of, is_repeatable=True
    )


def fork_session(
    session_id: str | int, body: models.ForkRequest
) -> Call[models.SessionRecord | models.PendingFork]:
    """Create a session `as` with a copy of this one's entries up to `upTo`."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/fork",
        decode=json_of,
        json=body,
        is_repeatable=True,
    )


def get_manifest(
    session_id: str | int,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    memory_tokens: int | None = None,
) -> Call[models.PageManifest]:
    """Read the session's pages as a model sees them, with their levels."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/manifest",
        decode=json_of,
        query={
            "limit": limit,
            "cursor": cursor,
            "memoryTokens": memory_tokens,
        },
        is_repeatable=True,
    )


def get_outline(
    session_id: str | int,
    *,
    limit: int | None = None,
    cursor: str | None = None,
    after: int | None = None,
    target: models.Target | None = None,
    max_tokens: int | None = None,
    frontier: str | None = None,
) -> Call[models.OutlinePage]:
    """Outline a session: a line for each entry, with its kind, title, calls, answers and media."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/outline",
        decode=json_of,
        query={
            "limit": limit,
            "cursor": cursor,
            "after": after,
            "target": target,
            "maxTokens": max_tokens,
            "frontier": frontier,
        },
        is_repeatable=True,
    )


def list_messages(
    session_id: str | int,
    *,
    media: models.MediaForm | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    after: int | None = None,
) -> Call[models.MessagePage]:
    """Replay a session: everything written to it in the order of `seq`, each as it was written."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/messages",
        decode=json_of,
        query={
            "media": media,
            "limit": limit,
            "cursor": cursor,
            "after": after,
        },
        is_repeatable=True,
    )


def append_message(
    session_id: str | int, body: models.HistoryMessageDraft, *, idempotency_key: str | None = None
) -> Call[models.HistoryMessage]:
    """Append a message as an SDK, a framework or a provider writes it, in any of the dialects."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/messages",
        decode=json_of,
        headers={
            "Idempotency-Key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def get_message(
    session_id: str | int, seq: str | int, *, media: models.MediaForm | None = None
) -> Call[models.HistoryEntry]:
    """Read one entry of a session's history by its number, whatever its kind."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/messages/{segment(seq)}",
        decode=json_of,
        query={
            "media": media,
        },
        is_repeatable=True,
    )


def list_interactions(
    session_id: str | int,
    *,
    input_kind: models.InputKind | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[models.InteractionPage]:
    """List the interactions of a session in the order of `seq`, with their answers."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/interactions",
        decode=json_of,
        query={
            "input_kind": input_kind,
            "limit": limit,
            "cursor": cursor,
        },
        is_repeatable=True,
    )


def create_interaction(
    session_id: str | int,
    body: models.InteractionDraft,
    *,
    attachments: Literal["known", "any"] | None = None,
    idempotency_key: str | None = None,
) -> Call[models.InteractionRecord]:
    """Append a user's turn: text, a `MultiModalInput`, or a legacy object, kept whole."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/interactions",
        decode=json_of,
        query={
            "attachments": attachments,
        },
        headers={
            "Idempotency-Key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def get_interaction(
    session_id: str | int, interaction_id: str | int
) -> Call[models.InteractionRecord]:
    """Read an interaction, with its answer if it has one."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/interactions/{segment(interaction_id)}",
        decode=json_of,
        is_repeatable=True,
    )


def set_interaction_output(
    session_id: str | int,
    interaction_id: str | int,
    body: models.ChatMessageDraft,
    *,
    if_match: str | None = None,
) -> Call[models.InteractionRecord]:
    """Set the answer of an interaction, once: the same again changes nothing, another is a 409."""
    return Call(
        "PUT",
        f"/api/sessions/{segment(session_id)}/interactions/{segment(interaction_id)}/output",
        decode=json_of,
        headers={
            "If-Match": if_match,
        },
        json=body,
        is_repeatable=True,
    )


def render_tool_result(
    tool_result_id: str | int,
    *,
    target: models.Target,
    accept: str | None = None,
    media: models.MediaDelivery | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
    max_text: int | None = None,
    max_image_pixels: int | None = None,
    count_tokens: bool | None = None,
) -> Call[models.RenderedRecord]:
    """Render a tool result for a model, as the answer to its call."""
    return Call(
        "GET",
        f"/api/tool-results/{segment(tool_result_id)}/render",
        decode=json_of,
        query={
            "target": target,
            "accept": accept,
            "media": media,
            "detail": detail,
            "maxBytes": max_bytes,
            "maxImages": max_images,
            "audience": audience,
            "protocolVersion": protocol_version,
            "handles": handles,
            "maxTokens": max_tokens,
            "maxText": max_text,
            "maxImagePixels": max_image_pixels,
            "countTokens": count_tokens,
        },
        is_repeatable=True,
    )


def render_page(
    page_id: str | int,
    *,
    tool_call_id: str | None = None,
    level: models.LevelName | None = None,
    target: models.Target | None = None,
    accept: str | None = None,
    media: models.MediaDelivery | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
    max_text: int | None = None,
    max_image_pixels: int | None = None,
    count_tokens: bool | None = None,
) -> Call[models.RenderedRecord]:
    """Render a page at a level for a model, as the answer to the call that faults it in."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}/render",
        decode=json_of,
        query={
            "toolCallId": tool_call_id,
            "level": level,
            "target": target,
            "accept": accept,
            "media": media,
            "detail": detail,
            "maxBytes": max_bytes,
            "maxImages": max_images,
            "audience": audience,
            "protocolVersion": protocol_version,
            "handles": handles,
            "maxTokens": max_tokens,
            "maxText": max_text,
            "maxImagePixels": max_image_pixels,
            "countTokens": count_tokens,
        },
        is_repeatable=True,
    )


def render_session(
    session_id: str | int,
    *,
    target: models.Target,
    since: int | None = None,
    up_to: int | None = None,
    at: int | None = None,
    memory: str | None = None,
    memory_tokens: int | None = None,
    frontier: str | None = None,
    evict_batch: int | None = None,
    cache_markers: bool | None = None,
    adaptive: bool | None = None,
    model: str | None = None,
    accept: str | None = None,
    media: models.MediaDelivery | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
    max_text: int | None = None,
    max_image_pixels: int | None = None,
    count_tokens: bool | None = None,
) -> Call[models.RenderedRecord]:
    """Render the history of a session as one list of messages, in the provider's order."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/render",
        decode=json_of,
        query={
            "since": since,
            "upTo": up_to,
            "target": target,
            "at": at,
            "memory": memory,
            "memoryTokens": memory_tokens,
            "frontier": frontier,
            "evictBatch": evict_batch,
            "cacheMarkers": cache_markers,
            "adaptive": adaptive,
            "model": model,
            "accept": accept,
            "media": media,
            "detail": detail,
            "maxBytes": max_bytes,
            "maxImages": max_images,
            "audience": audience,
            "protocolVersion": protocol_version,
            "handles": handles,
            "maxTokens": max_tokens,
            "maxText": max_text,
            "maxImagePixels": max_image_pixels,
            "countTokens": count_tokens,
        },
        is_repeatable=True,
    )


def render_session_on(
    session_id: str | int, body: models.SessionRenderRequest
) -> Call[models.RenderedRecord]:
    """Render the history of a session within limits, and store the progress of its eviction."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/render",
        decode=json_of,
        json=body,
        is_repeatable=True,
    )


def get_working_set(
    session_id: str | int,
    *,
    target: models.Target,
    at: int | None = None,
    memory: str | None = None,
    memory_tokens: int | None = None,
    frontier: str | None = None,
    evict_batch: int | None = None,
    cache_markers: bool | None = None,
    adaptive: bool | None = None,
    model: str | None = None,
    accept: str | None = None,
    media: models.MediaDelivery | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
    max_text: int | None = None,
    max_image_pixels: int | None = None,
    count_tokens: bool | None = None,
) -> Call[models.WorkingSet]:
    """Read the part of a session that a model has in context with the same render options."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/working-set",
        decode=json_of,
        query={
            "target": target,
            "at": at,
            "memory": memory,
            "memoryTokens": memory_tokens,
            "frontier": frontier,
            "evictBatch": evict_batch,
            "cacheMarkers": cache_markers,
            "adaptive": adaptive,
            "model": model,
            "accept": accept,
            "media": media,
            "detail": detail,
            "maxBytes": max_bytes,
            "maxImages": max_images,
            "audience": audience,
            "protocolVersion": protocol_version,
            "handles": handles,
            "maxTokens": max_tokens,
            "maxText": max_text,
            "maxImagePixels": max_image_pixels,
            "countTokens": count_tokens,
        },
        is_repeatable=True,
    )


def render_record(body: models.RenderRequest) -> Call[models.RenderedRecord]:
    """Render a stored record with options too long for an address."""
    return Call("POST", "/api/render", decode=json_of, json=body, is_repeatable=True)


def list_tools(*, target: models.Target, only: str | None = None) -> Call[models.ToolDefinitions]:
    """Read the definitions of the memory's tools, in the dialect of a provider."""
    return Call(
        "GET",
        "/api/tools",
        decode=json_of,
        query={
            "target": target,
            "only": only,
        },
        is_repeatable=True,
    )


def get_tool_instructions(*, style: models.InstructionStyle | None = None) -> Call[str]:
    """Read the rules for using the memory, as a prompt for a model."""
    return Call(
        "GET",
        "/api/tools/instructions",
        decode=text_of,
        query={
            "style": style,
        },
        is_repeatable=True,
    )


def run_tool_call(
    session_id: str | int, body: models.ToolCallRequest
) -> Call[models.RenderedRecord]:
    """Run a model's call of one of the tools; `messages` is what to append to the conversation."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/tool-calls",
        decode=json_of,
        json=body,
        is_repeatable=True,
    )


def resolve_references(body: models.ResolveRequest) -> Call[models.ResolvedArguments]:
    """Replace references anywhere in a JSON value by their content."""
    return Call("POST", "/api/resolve", decode=json_of, json=body, is_repeatable=True)


def append_turn(
    session_id: str | int, body: models.TurnRequest, *, idempotency_key: str | None = None
) -> Call[models.TurnReceipt]:
    """Append messages, tool results and calls of our tools in one transaction, and render."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/turns",
        decode=json_of,
        headers={
            "Idempotency-Key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def put_history(
    session_id: str | int,
    body: models.Conversation,
    *,
    render: models.Target | None = None,
    since: int | None = None,
    on_divergence: Literal["refuse", "fork"] | None = None,
    as_: str | None = None,
    expected_seq: int | None = None,
    memory: str | None = None,
    memory_tokens: int | None = None,
    frontier: str | None = None,
    evict_batch: int | None = None,
    cache_markers: bool | None = None,
    adaptive: bool | None = None,
    model: str | None = None,
    accept: str | None = None,
    media: models.MediaDelivery | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
    max_text: int | None = None,
    max_image_pixels: int | None = None,
    count_tokens: bool | None = None,
) -> Call[models.HistoryReceipt]:
    """Append the entries of this conversation that the session does not have yet."""
    return Call(
        "PUT",
        f"/api/sessions/{segment(session_id)}/history",
        decode=json_of,
        query={
            "render": render,
            "since": since,
            "onDivergence": on_divergence,
            "as": as_,
            "expectedSeq": expected_seq,
            "memory": memory,
            "memoryTokens": memory_tokens,
            "frontier": frontier,
            "evictBatch": evict_batch,
            "cacheMarkers": cache_markers,
            "adaptive": adaptive,
            "model": model,
            "accept": accept,
            "media": media,
            "detail": detail,
            "maxBytes": max_bytes,
            "maxImages": max_images,
            "audience": audience,
            "protocolVersion": protocol_version,
            "handles": handles,
            "maxTokens": max_tokens,
            "maxText": max_text,
            "maxImagePixels": max_image_pixels,
            "countTokens": count_tokens,
        },
        json=body,
        is_repeatable=True,
    )


def create_upload(
    *, tus_resumable: str, upload_length: str, upload_metadata: str | None = None
) -> Call[httpx.Headers]:
    """Begin an upload of a file of known length; `Location` is the address for its pieces."""
    return Call(
        "POST",
        "/api/uploads",
        decode=headers_of,
        headers={
            "Tus-Resumable": tus_resumable,
            "Upload-Length": upload_length,
            "Upload-Metadata": upload_metadata,
        },
    )


def get_upload_options() -> Call[httpx.Headers]:
    """Return the supported parts of the protocol, and the maximal size of a file."""
    return Call("OPTIONS", "/api/uploads", decode=headers_of, is_repeatable=True)


def get_upload(upload_id: str | int) -> Call[models.UploadRecord]:
    """Read the state of an upload as JSON, with its resource."""
    return Call("GET", f"/api/uploads/{segment(upload_id)}", decode=json_of, is_repeatable=True)


def get_upload_offset(upload_id: str | int, *, tus_resumable: str) -> Call[httpx.Headers]:
    """Return the state of an upload: `Upload-Offset` is the beginning of the next piece."""
    return Call(
        "HEAD",
        f"/api/uploads/{segment(upload_id)}",
        decode=headers_of,
        headers={
            "Tus-Resumable": tus_resumable,
        },
        is_repeatable=True,
    )


def append_upload(
    upload_id: str | int,
    body: Body,
    *,
    tus_resumable: str,
    upload_offset: str,
    upload_checksum: str | None = None,
) -> Call[httpx.Headers]:
    """Send the next piece. Received bytes are kept, even if the request breaks."""
    return Call(
        "PATCH",
        f"/api/uploads/{segment(upload_id)}",
        decode=headers_of,
        headers={
            "Tus-Resumable": tus_resumable,
            "Upload-Offset": upload_offset,
            "Upload-Checksum": upload_checksum,
        },
        content=body,
        content_type="application/offset+octet-stream",
    )


def delete_upload(upload_id: str | int, *, tus_resumable: str) -> Call[None]:
    """Delete an upload. Its resource stays."""
    return Call(
        "DELETE",
        f"/api/uploads/{segment(upload_id)}",
        decode=nothing_of,
        headers={
            "Tus-Resumable": tus_resumable,
        },
        is_repeatable=True,
    )


def stream_events(
    *, ticket: str | None = None, after: int | None = None, last_event_id: int | None = None
) -> Call[str]:
    """Listen to all writes to the project, as server-sent events."""
    return Call(
        "GET",
        "/api/events",
        decode=text_of,
        query={
            "ticket": ticket,
            "after": after,
            "lastEventId": last_event_id,
        },
        is_repeatable=True,
    )


def stream_session_events(
    session_id: str | int,
    *,
    ticket: str | None = None,
    after: int | None = None,
    last_event_id: int | None = None,
) -> Call[str]:
    """Listen to all writes to a session, as server-sent events."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/events",
        decode=text_of,
        query={
            "ticket": ticket,
            "after": after,
            "lastEventId": last_event_id,
        },
        is_repeatable=True,
    )


def create_event_ticket() -> Call[models.EventTicket]:
    """Create a ticket for opening a stream, for browsers, whose EventSource sends no headers."""
    return Call("POST", "/api/events/ticket", decode=json_of, is_repeatable=True)


def get_health() -> Call[models.Health]:
    """Check that the process answers."""
    return Call("GET", "/healthz", decode=json_of, is_repeatable=True)


def get_readiness() -> Call[models.Readiness]:
    """Check that both stores answer; 503 if one does not, 507 if there is no space for a file."""
    return Call("GET", "/readyz", decode=json_of, is_repeatable=True)


def get_version() -> Call[models.Version]:
    """Return the version of the service."""
    return Call("GET", "/api/version", decode=json_of, is_repeatable=True)


def get_metrics() -> Call[str]:
    """Return metrics in Prometheus' text format."""
    return Call("GET", "/metrics", decode=text_of, is_repeatable=True)


def export_session(session_id: str | int) -> Call[bytes]:
    """Download a whole session as a zip: history, pages, interactions, and every blob once."""
    return Call(
        "GET", f"/api/sessions/{segment(session_id)}/bundle", decode=bytes_of, is_repeatable=True
    )


def import_session(body: Body) -> Call[models.SessionRecord]:
    """Restore a session from its bundle, with the same ids and the same bytes."""
    return Call(
        "POST", "/api/sessions/import", decode=json_of, content=body, content_type="application/zip"
    )


def examine_history(
    body: models.Examination,
    *,
    target: models.Target | None = None,
    apply: bool | None = None,
    dialect: models.Dialect | None = None,
    max_tokens: int | None = None,
) -> Call[models.Diagnosis]:
    """Diagnose a history of any dialect, and repair it."""
    return Call(
        "POST",
        "/api/doctor",
        decode=json_of,
        query={
            "target": target,
            "apply": apply,
            "dialect": dialect,
            "maxTokens": max_tokens,
        },
        json=body,
        is_repeatable=True,
    )
