"""`pagefault ingest`: store a tool result from a file or a pipe, without a server."""

import hashlib
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from rich.console import Console
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
from rich.table import Table

from app.cli.terminal import (
    ERR,
    CommandError,
    escape_for_console,
    format_count,
    format_faults,
    truncate,
)
from app.config.settings import Settings
from app.services.access.callers import Access
from app.services.tool_results.prepared_results import IngestOutcome
from app.services.tool_results.tool_results import ToolResults
from app.wiring import ingest_services, shared_services
from app.wiring.open_stores import Stores, open_storage_quota
from app.wiring.services import Services
from app.wiring.stores import open_records
from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue, json_bytes, parse_json
from pagefault_dialects.streams.json_digests import SCHEME, json_digest

_CHUNK_BYTES = 1024 * 1024
_REQUEST_KEYS = {
    "toolName",
    "toolCallId",
    "success",
    "sessionId",
    "callMessage",
    "newCall",
    "result",
}
_TEXT_CHARS = 60


def ingest_file(
    settings: Settings,
    file: str,
    *,
    session_id: str,
    tool_name: str,
    tool_call_id: str | None,
    project_id: str,
    console: Console,
) -> None:
    """Store a tool result and print a table of its parts.

    Args:
        settings: The settings of the stores.
        file: A path, or `-` for standard input.
        session_id: The session of the result.
        tool_name: The tool that returned it; ignored if the file is a whole request.
        tool_call_id: The id of the call. The default is derived from the JSON, so that equal JSON
            is stored once.
        project_id: The project of the session.
        console: The console of the table; progress goes to standard error.

    Raises:
        CommandError: The file cannot be read, or is not JSON.
        PagefaultError: The tool result is invalid, or a store fails.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal) as progress:
        content = _read_file(file, progress)
        value = _parse_file(content, settings)
        make_body = partial(
            _build_request_body, content, value, session_id=session_id, tool_name=tool_name
        )
        call_ids = [tool_call_id] if tool_call_id is not None else _derive_call_ids(content, value)
        progress.add_task("storing", total=None)
        try:
            ingested = anyio.run(_ingest, settings, project_id, session_id, make_body, call_ids)
        except InvalidPayloadError as exc:
            faults = format_faults(exc.faults)
            raise CommandError(f"the tool result is refused: {faults or exc.detail}") from exc
    _print_parts(ingested, console)


def _read_file(file: str, progress: Progress) -> bytes:
    try:
        size = None if file == "-" else Path(file).stat().st_size
        task = progress.add_task("reading", total=size)
        chunks = []
        with sys.stdin.buffer if file == "-" else Path(file).open("rb") as source:
            while chunk := source.read(_CHUNK_BYTES):
                chunks.append(chunk)
                progress.advance(task, len(chunk))
    except OSError as exc:
        raise CommandError(f"cannot read {file}: {exc.strerror}") from exc
    progress.remove_task(task)
    return b"".join(chunks)


def _parse_file(content: bytes, settings: Settings) -> JsonValue:
    limits = settings.limits
    try:
        # With `keeps_spelling`, numbers stay as they are written, and a message in the request is
        # stored unchanged.
        return parse_json(
            content, max_depth=limits.json_depth, max_nodes=limits.json_nodes, keeps_spelling=True
        )
    except InvalidJsonError as exc:
        raise CommandError(f"the file is not a tool result: {exc.detail}") from exc


def _derive_call_ids(content: bytes, value: JsonValue) -> list[str]:
    """Derive call ids from a file: from its JSON, and as earlier versions did, from its bytes."""
    digest = json_digest(value, body_bytes=len(content)).removeprefix(SCHEME)
    return [f"cli-{item[:16]}" for item in (digest, hashlib.sha256(content).hexdigest())]


def _build_request_body(
    content: bytes, value: JsonValue, tool_call_id: str, *, session_id: str, tool_name: str
) -> bytes:
    """Return the body of a request: the file if it is one, or a request with the file as result."""
    if isinstance(value, dict) and {"toolName", "result"} <= value.keys() <= _REQUEST_KEYS:
        members = {"toolCallId": tool_call_id, **value, "sessionId": session_id}
        # A lone surrogate is written as a JSON escape. The service replaces it, and adds a warning.
        return json_bytes(members)
    head = {"toolName": tool_name, "toolCallId": tool_call_id, "sessionId": session_id}
    return json_bytes(head)[:-1] + b',"result":' + content + b"}"


async def _ingest(
    settings: Settings,
    project_id: str,
    session_id: str,
    make_body: Callable[[str], bytes],
    call_ids: Sequence[str],
) -> IngestOutcome:
    """Store the result under a call id that the session has already; otherwise, the first one."""
    providers = (
        *shared_services.SERVICES,
        *ingest_services.MEDIA,
        *ingest_services.SESSIONS,
        *ingest_services.RESULTS,
    )
    async with (
        open_records(settings) as (records, blobs),
        open_storage_quota(settings, records, blobs) as stored_bytes,
    ):
        values = Stores(records, blobs, stored_bytes).values(settings)
        tool_results = Services(providers, values)[ToolResults]
        await Access(records, None).ensure_project(project_id)
        call_id = call_ids[0]
        for older_id in call_ids[1:]:
            if await tool_results.has_result(project_id, session_id, older_id):
                call_id = older_id

        async def body() -> AsyncIterator[bytes]:
            yield make_body(call_id)

        return await tool_results.ingest(project_id, body(), idempotency_key=None)


def _print_parts(ingested: IngestOutcome, console: Console) -> None:
    result = ingested.result
    record = json.loads(result.sanitized)
    resources = {f"@{resource['uri']}": resource for resource in record["resources"]}
    table = Table("part", "type", "MIME type", "name", "size")
    table.add_column("content", overflow="fold")
    for index, part in enumerate(record["parts"]):
        table.add_row(str(index), *_format_part(part, resources))
    console.print(table)
    outcome = "stored" if ingested.is_new else "was stored before"
    console.print(
        f"{result.tool_result_id} {outcome} as seq {result.seq} of session {result.session_id}; "
        f"{format_count(len(resources), 'resource')}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )


def _format_part(part: dict[str, Any], resources: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    if part["type"] == "text":
        text = part["text"]
        size = decimal(len(text.encode("utf-8", "replace")))
        return "text", "", "", size, escape_for_console(truncate(text, _TEXT_CHARS))
    reference = part["image"] if part["type"] == "image" else part["data"]
    resource = resources.get(reference, {})
    size = decimal(resource["size"]) if resource else ""
    name = part.get("filename") or resource.get("filename") or ""
    return (
        part["type"],
        part["mimeType"],
        escape_for_console(name),
        size,
        escape_for_console(reference[:80]),
    )
