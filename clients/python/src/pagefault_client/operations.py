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
    """List Tool Results."""
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
    render: Literal[
        "openai-compat",
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
        "vercel-6",
        "text",
    ]
    | None = None,
    handles: bool | None = None,
    idempotency_key: str | None = None,
) -> Call[models.RenderedToolResult]:
    """Create Tool Result."""
    return Call(
        "POST",
        "/api/tool-results",
        decode=json_of,
        query={
            "render": render,
            "handles": handles,
        },
        headers={
            "idempotency-key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def get_tool_result(tool_result_id: str | int) -> Call[models.ToolResultRecord]:
    """Get Tool Result."""
    return Call(
        "GET", f"/api/tool-results/{segment(tool_result_id)}", decode=json_of, is_repeatable=True
    )


def list_resources(
    *, limit: int | None = None, cursor: str | None = None
) -> Call[models.ResourcePage]:
    """List Resources."""
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
    """Create Resource."""
    return Call(
        "POST",
        "/api/resources",
        decode=json_of,
        query={
            "filename": filename,
            "alias": alias,
        },
        headers={
            "repr-digest": repr_digest,
        },
        content=body,
        content_type="application/octet-stream",
        is_repeatable=True,
    )


def get_resource(uri: str | int) -> Call[models.ResourceRecord]:
    """Get Resource."""
    return Call("GET", f"/api/resources/{segment(uri)}", decode=json_of, is_repeatable=True)


def head_resource(uri: str | int) -> Call[httpx.Headers]:
    """Head Resource."""
    return Call("HEAD", f"/api/resources/{segment(uri)}", decode=headers_of, is_repeatable=True)


def delete_resource(uri: str | int) -> Call[None]:
    """Delete Resource."""
    return Call("DELETE", f"/api/resources/{segment(uri)}", decode=nothing_of, is_repeatable=True)


def create_signed_url(
    uri: str | int, body: models.SignedUrlRequest | None = None
) -> Call[models.SignedUrl]:
    """Create Signed Url."""
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
) -> Call[bytes]:
    """Get Resource Content."""
    return Call(
        "GET",
        f"/api/resources/{segment(uri)}/content",
        decode=bytes_of,
        query={
            "token": token,
            "download": download,
            "filename": filename,
        },
        is_repeatable=True,
    )


def head_resource_content(
    uri: str | int,
    *,
    token: str | None = None,
    download: bool | None = None,
    filename: str | None = None,
) -> Call[httpx.Headers]:
    """Head Resource Content."""
    return Call(
        "HEAD",
        f"/api/resources/{segment(uri)}/content",
        decode=headers_of,
        query={
            "token": token,
            "download": download,
            "filename": filename,
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
    """Get Resource Text."""
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


def list_aliases(
    *, uri: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[models.AliasPage]:
    """List Aliases."""
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
    """Get Alias."""
    return Call("GET", f"/api/aliases/{segment(alias)}", decode=json_of, is_repeatable=True)


def put_alias(
    alias: str | int,
    body: models.AliasDraft,
    *,
    if_match: str | None = None,
    if_none_match: str | None = None,
) -> Call[models.AliasRecord]:
    """Put Alias."""
    return Call(
        "PUT",
        f"/api/aliases/{segment(alias)}",
        decode=json_of,
        headers={
            "if-match": if_match,
            "if-none-match": if_none_match,
        },
        json=body,
        is_repeatable=True,
    )


def delete_alias(alias: str | int, *, if_match: str | None = None) -> Call[None]:
    """Delete Alias."""
    return Call(
        "DELETE",
        f"/api/aliases/{segment(alias)}",
        decode=nothing_of,
        headers={
            "if-match": if_match,
        },
        is_repeatable=True,
    )


def resolve_references(body: models.ResolveRequest) -> Call[models.ResolvedArguments]:
    """Resolve References."""
    return Call("POST", "/api/resolve", decode=json_of, json=body, is_repeatable=True)


def list_pages(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    session_id: str | None = None,
    modality: models.Modality | None = None,
    page_type: models.PageType | None = None,
    pinned: bool | None = None,
    level: str | None = None,
) -> Call[models.PageList]:
    """List Pages."""
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
    """Create Page."""
    return Call(
        "POST",
        "/api/pages",
        decode=json_of,
        headers={
            "idempotency-key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def create_pages(body: models.PageBatch) -> Call[models.CreatedPages]:
    """Create Pages."""
    return Call("POST", "/api/pages/bulk", decode=json_of, json=body)


def search_pages(
    *,
    q: str,
    limit: int | None = None,
    cursor: str | None = None,
    session_id: str | None = None,
    modality: models.Modality | None = None,
) -> Call[models.SearchHits]:
    """Search Pages."""
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


def get_page(
    page_id: str | int, *, media: Literal["reference", "inline"] | None = None
) -> Call[models.PageRecord]:
    """Get Page."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}",
        decode=json_of,
        query={
            "media": media,
        },
        is_repeatable=True,
    )


def head_page(
    page_id: str | int, *, media: Literal["reference", "inline"] | None = None
) -> Call[httpx.Headers]:
    """Head Page."""
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
    """Put Page."""
    return Call(
        "PUT",
        f"/api/pages/{segment(page_id)}",
        decode=json_of,
        headers={
            "if-match": if_match,
            "if-none-match": if_none_match,
        },
        json=body,
        is_repeatable=True,
    )


def patch_page(
    page_id: str | int, body: models.PagePatch, *, if_match: str | None = None
) -> Call[models.PageRecord]:
    """Patch Page."""
    return Call(
        "PATCH",
        f"/api/pages/{segment(page_id)}",
        decode=json_of,
        headers={
            "if-match": if_match,
        },
        json=body,
        content_type="application/merge-patch+json",
        is_repeatable=True,
    )


def delete_page(page_id: str | int, *, if_match: str | None = None) -> Call[None]:
    """Delete Page."""
    return Call(
        "DELETE",
        f"/api/pages/{segment(page_id)}",
        decode=nothing_of,
        headers={
            "if-match": if_match,
        },
        is_repeatable=True,
    )


def get_page_content(
    page_id: str | int,
    *,
    media: Literal["inline", "reference"] | None = None,
    level: str | None = None,
) -> Call[
    models.TextContent
    | models.ImageContent
    | models.AudioContent
    | models.VideoContent
    | models.StructuredContent
]:
    """Get Page Content."""
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
    form: Literal["blocks", "json"] | None = None,
    level: str | None = None,
    media: Literal["inline", "reference"] | None = None,
    detail: Literal["low", "high", "auto"] | None = None,
    max_chars: int | None = None,
    offset: int | None = None,
) -> Call[models.PageBlocksRecord]:
    """Get Page Blocks."""
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
    form: Literal["blocks", "json"] | None = None,
) -> Call[models.PageToolMessage]:
    """Fault Page."""
    return Call(
        "POST",
        f"/api/pages/{segment(page_id)}/fault",
        decode=json_of,
        query={
            "form": form,
        },
        json=body,
    )


def download_page(page_id: str | int, *, level: str | None = None) -> Call[bytes]:
    """Download Page."""
    return Call(
        "GET",
        f"/api/pages/{segment(page_id)}/download",
        decode=bytes_of,
        query={
            "level": level,
        },
        is_repeatable=True,
    )


def head_page_download(page_id: str | int, *, level: str | None = None) -> Call[httpx.Headers]:
    """Head Page Download."""
    return Call(
        "HEAD",
        f"/api/pages/{segment(page_id)}/download",
        decode=headers_of,
        query={
            "level": level,
        },
        is_repeatable=True,
    )


def get_page_representation(page_id: str | int, level: str | int) -> Call[models.PageLevelRecord]:
    """Get Page Representation."""
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
    """Put Page Representation."""
    return Call(
        "PUT",
        f"/api/pages/{segment(page_id)}/representations/{segment(level)}",
        decode=json_of,
        headers={
            "if-match": if_match,
        },
        json=body,
        is_repeatable=True,
    )


def delete_page_representation(
    page_id: str | int, level: str | int, *, if_match: str | None = None
) -> Call[None]:
    """Delete Page Representation."""
    return Call(
        "DELETE",
        f"/api/pages/{segment(page_id)}/representations/{segment(level)}",
        decode=nothing_of,
        headers={
            "if-match": if_match,
        },
        is_repeatable=True,
    )


def list_sessions(
    *, q: str | None = None, limit: int | None = None, cursor: str | None = None
) -> Call[models.SessionPage]:
    """List Sessions."""
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
    """Get Session."""
    return Call("GET", f"/api/sessions/{segment(session_id)}", decode=json_of, is_repeatable=True)


def head_session(session_id: str | int) -> Call[httpx.Headers]:
    """Head Session."""
    return Call(
        "HEAD", f"/api/sessions/{segment(session_id)}", decode=headers_of, is_repeatable=True
    )


def put_session(
    session_id: str | int, *, if_match: str | None = None, if_none_match: str | None = None
) -> Call[models.SessionRecord]:
    """Put Session."""
    return Call(
        "PUT",
        f"/api/sessions/{segment(session_id)}",
        decode=json_of,
        headers={
            "if-match": if_match,
            "if-none-match": if_none_match,
        },
        is_repeatable=True,
    )


def delete_session(session_id: str | int) -> Call[models.DeletionReceipt]:
    """Delete Session."""
    return Call(
        "DELETE", f"/api/sessions/{segment(session_id)}", decode=json_of, is_repeatable=True
    )


def get_manifest(session_id: str | int, *, limit: int | None = None) -> Call[models.PageManifest]:
    """Get Manifest."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/manifest",
        decode=json_of,
        query={
            "limit": limit,
        },
        is_repeatable=True,
    )


def list_messages(
    session_id: str | int,
    *,
    media: Literal["reference", "inline"] | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    after: int | None = None,
) -> Call[models.MessagePage]:
    """List Messages."""
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
    """Append Message."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/messages",
        decode=json_of,
        headers={
            "idempotency-key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def get_message(
    session_id: str | int, seq: str | int, *, media: Literal["reference", "inline"] | None = None
) -> Call[models.HistoryEntry]:
    """Get Message."""
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
    """List Interactions."""
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
    """Create Interaction."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/interactions",
        decode=json_of,
        query={
            "attachments": attachments,
        },
        headers={
            "idempotency-key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def get_interaction(
    session_id: str | int, interaction_id: str | int
) -> Call[models.InteractionRecord]:
    """Get Interaction."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/interactions/{segment(interaction_id)}",
        decode=json_of,
        is_repeatable=True,
    )


def set_interaction_output(
    session_id: str | int,
    interaction_id: str | int,
    body: models.ChatMessage,
    *,
    if_match: str | None = None,
) -> Call[models.InteractionRecord]:
    """Set Interaction Output."""
    return Call(
        "PUT",
        f"/api/sessions/{segment(session_id)}/interactions/{segment(interaction_id)}/output",
        decode=json_of,
        headers={
            "if-match": if_match,
        },
        json=body,
        is_repeatable=True,
    )


def export_session(session_id: str | int) -> Call[bytes]:
    """Export Session."""
    return Call(
        "GET", f"/api/sessions/{segment(session_id)}/bundle", decode=bytes_of, is_repeatable=True
    )


def import_session(body: Body) -> Call[models.SessionRecord]:
    """Import Session."""
    return Call(
        "POST", "/api/sessions/import", decode=json_of, content=body, content_type="application/zip"
    )


def examine_history(
    body: models.Examination,
    *,
    target: Literal[
        "openai-compat",
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
        "vercel-6",
        "text",
    ]
    | None = None,
    apply: bool | None = None,
    dialect: Literal[
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
    ]
    | None = None,
    max_tokens: int | None = None,
) -> Call[models.Diagnosis]:
    """Examine History."""
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


def render_tool_result(
    tool_result_id: str | int,
    *,
    target: Literal[
        "openai-compat",
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
        "vercel-6",
        "text",
    ],
    accept: str | None = None,
    media: models.MediaWish | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
) -> Call[models.RenderedRecord]:
    """Render Tool Result."""
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
        },
        is_repeatable=True,
    )


def render_page(
    page_id: str | int,
    *,
    tool_call_id: str | None = None,
    level: str | None = None,
    target: Literal[
        "openai-compat",
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
        "vercel-6",
        "text",
    ]
    | None = None,
    accept: str | None = None,
    media: models.MediaWish | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
) -> Call[models.RenderedRecord]:
    """Render Page."""
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
        },
        is_repeatable=True,
    )


def render_session(
    session_id: str | int,
    *,
    since: int | None = None,
    memory: str | None = None,
    memory_tokens: int | None = None,
    frontier: str | None = None,
    evict_batch: int | None = None,
    cache_markers: bool | None = None,
    target: Literal[
        "openai-compat",
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
        "vercel-6",
        "text",
    ],
    accept: str | None = None,
    media: models.MediaWish | None = None,
    detail: models.ImageDetail | None = None,
    max_bytes: int | None = None,
    max_images: int | None = None,
    audience: models.Audience | None = None,
    protocol_version: models.McpRevision | None = None,
    handles: bool | None = None,
    max_tokens: int | None = None,
) -> Call[models.RenderedRecord]:
    """Render Session."""
    return Call(
        "GET",
        f"/api/sessions/{segment(session_id)}/render",
        decode=json_of,
        query={
            "since": since,
            "memory": memory,
            "memoryTokens": memory_tokens,
            "frontier": frontier,
            "evictBatch": evict_batch,
            "cacheMarkers": cache_markers,
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
        },
        is_repeatable=True,
    )


def render_session_on(
    session_id: str | int, body: models.SessionRenderRequest
) -> Call[models.RenderedRecord]:
    """Render Session On."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/render",
        decode=json_of,
        json=body,
        is_repeatable=True,
    )


def render_record(body: models.RenderRequest) -> Call[models.RenderedRecord]:
    """Render Record."""
    return Call("POST", "/api/render", decode=json_of, json=body, is_repeatable=True)


def list_tools(
    *,
    target: Literal[
        "openai-compat",
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "mcp",
        "langchain",
        "vercel",
        "vercel-6",
        "text",
    ],
    only: str | None = None,
) -> Call[models.ToolDefinitions]:
    """List Tools."""
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


def get_tool_instructions(*, style: Literal["strict", "relaxed"] | None = None) -> Call[str]:
    """Get Tool Instructions."""
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
    """Run Tool Call."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/tool-calls",
        decode=json_of,
        json=body,
        is_repeatable=True,
    )


def append_turn(
    session_id: str | int, body: models.TurnRequest, *, idempotency_key: str | None = None
) -> Call[models.TurnReceipt]:
    """Append Turn."""
    return Call(
        "POST",
        f"/api/sessions/{segment(session_id)}/turns",
        decode=json_of,
        headers={
            "idempotency-key": idempotency_key,
        },
        json=body,
        takes_key=True,
    )


def create_upload(
    *,
    tus_resumable: str | None = None,
    upload_length: str | None = None,
    upload_metadata: str | None = None,
) -> Call[httpx.Headers]:
    """Create Upload."""
    return Call(
        "POST",
        "/api/uploads",
        decode=headers_of,
        headers={
            "tus-resumable": tus_resumable,
            "upload-length": upload_length,
            "upload-metadata": upload_metadata,
        },
    )


def get_upload_options() -> Call[httpx.Headers]:
    """Get Upload Options."""
    return Call("OPTIONS", "/api/uploads", decode=headers_of, is_repeatable=True)


def get_upload(upload_id: str | int) -> Call[models.UploadRecord]:
    """Get Upload."""
    return Call("GET", f"/api/uploads/{segment(upload_id)}", decode=json_of, is_repeatable=True)


def get_upload_offset(
    upload_id: str | int, *, tus_resumable: str | None = None
) -> Call[httpx.Headers]:
    """Get Upload Offset."""
    return Call(
        "HEAD",
        f"/api/uploads/{segment(upload_id)}",
        decode=headers_of,
        headers={
            "tus-resumable": tus_resumable,
        },
        is_repeatable=True,
    )


def append_upload(
    upload_id: str | int,
    body: Body,
    *,
    tus_resumable: str | None = None,
    upload_offset: str | None = None,
    upload_checksum: str | None = None,
) -> Call[httpx.Headers]:
    """Append Upload."""
    return Call(
        "PATCH",
        f"/api/uploads/{segment(upload_id)}",
        decode=headers_of,
        headers={
            "tus-resumable": tus_resumable,
            "upload-offset": upload_offset,
            "upload-checksum": upload_checksum,
        },
        content=body,
        content_type="application/offset+octet-stream",
    )


def delete_upload(upload_id: str | int, *, tus_resumable: str | None = None) -> Call[None]:
    """Delete Upload."""
    return Call(
        "DELETE",
        f"/api/uploads/{segment(upload_id)}",
        decode=nothing_of,
        headers={
            "tus-resumable": tus_resumable,
        },
        is_repeatable=True,
    )


def stream_events(
    *, ticket: str | None = None, after: int | None = None, last_event_id: int | None = None
) -> Call[str]:
    """Stream Events."""
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
    """Stream Session Events."""
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
    """Create Event Ticket."""
    return Call("POST", "/api/events/ticket", decode=json_of, is_repeatable=True)


def get_health() -> Call[models.Health]:
    """Get Health."""
    return Call("GET", "/healthz", decode=json_of, is_repeatable=True)


def get_readiness() -> Call[models.Readiness]:
    """Get Readiness."""
    return Call("GET", "/readyz", decode=json_of, is_repeatable=True)


def get_version() -> Call[models.Version]:
    """Get Version."""
    return Call("GET", "/api/version", decode=json_of, is_repeatable=True)


def get_metrics() -> Call[str]:
    """Get Metrics."""
    return Call("GET", "/metrics", decode=text_of, is_repeatable=True)
