"""`pagefault ingest FILE.jsonl`: store the conversation of a transcript, without a server."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio

from app.cli.terminal import CommandError, format_count, print_line
from app.config.settings import Settings
from app.errors import ConflictError
from app.features import open_services
from app.services.access.callers import Access
from app.services.agents.conversation_puts import ConversationPuts, ConversationQuery
from app.services.agents.conversation_units import join_lines
from app.stores.records.records import Records
from pagefault_dialects.errors import InvalidJsonError

_CHUNK_BYTES = 1024 * 1024


def ingest_transcript(
    settings: Settings, file: Path, *, session_id: str, project_id: str, fork_id: str | None
) -> None:
    """Append those messages of a transcript that are not in the session yet; print their number.

    Args:
        settings: The settings of the stores.
        file: A transcript of Claude Code or Codex, or a message in each line.
        session_id: The session that gets the messages.
        project_id: The project of the session.
        fork_id: The id of a fork that gets the messages if the session has another conversation,
            for example because the user of the agent went back and asked something else.

    Raises:
        CommandError: The file cannot be read, a line is not JSON, or the session has another
            conversation.
        PagefaultError: The conversation is invalid, or a store fails.
    """
    try:
        receipt = anyio.run(_append, settings, file, session_id, project_id, fork_id)
    except ConflictError as exc:
        if exc.problem_code != "history-diverged":
            raise
        raise CommandError(
            f"session {session_id} has another conversation from seq {exc.members['seq']} on, and "
            f"nothing was appended. `--fork ID` stores this one as a fork of session {session_id}."
        ) from exc
    except OSError as exc:
        raise CommandError(f"cannot read {file}: {exc.strerror}") from exc
    except InvalidJsonError as exc:
        sentence = exc.detail.replace("The body", str(file))
        raise CommandError(f"{sentence} `pagefault doctor {file}` examines it.") from exc
    appended = format_count(receipt["appended"], "message")
    skipped = format_count(receipt.get("passedOver", 0), "line")
    name = receipt.get("sessionId", session_id)
    print_line(
        f"session {name} has the conversation up to seq {receipt['lastSeq']}: {appended} "
        f"appended; {skipped} of other kinds"
    )


async def _append(
    settings: Settings, file: Path, session_id: str, project_id: str, fork_id: str | None
) -> dict[str, Any]:
    """Append the messages, and return the JSON of the receipt (`HistoryReceipt`)."""

    async def chunks() -> AsyncIterator[bytes]:
        async with await anyio.open_file(file, "rb") as source:
            while chunk := await source.read(_CHUNK_BYTES):
                yield chunk

    async with open_services(settings) as services:
        await Access(services[Records], None).ensure_project(project_id)
        response = await services[ConversationPuts].put(
            project_id, session_id, join_lines(chunks()), ConversationQuery(fork_id=fork_id)
        )
        receipt: dict[str, Any] = json.loads(b"".join([item async for item in response.chunks()]))
        return receipt
