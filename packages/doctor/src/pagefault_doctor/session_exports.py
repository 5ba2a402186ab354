"""`pagefault export`: write a session as the file of a host, or for people, without a server."""

import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import anyio

from app.cli.terminal import ERR, CommandError
from app.config.settings import Settings
from app.features import FEATURES, open_services
from app.wiring.services import Services
from pagefault_doctor.feature import FEATURE
from pagefault_doctor.session_documents import SessionDocuments
from pagefault_doctor.transcript_exports import (
    TranscriptExports,
    TranscriptQuery,
    make_transcript_id,
)
from pagefault_doctor.transcript_files import Host


def write_transcript(
    settings: Settings,
    project_id: str,
    session_id: str,
    query: TranscriptQuery,
    output: Path | None,
) -> None:
    """Write a transcript, and print where its host expects it, and the command that resumes it.

    Args:
        settings: The settings of the stores.
        project_id: The project of the session.
        session_id: The session.
        query: The host, and its folder.
        output: A new file; by default standard output.

    Raises:
        CommandError: The file exists, or cannot be written.
        PagefaultError: There is no such session, or a store fails.
    """

    async def export(services: Services) -> AsyncIterator[bytes]:
        body = await services[TranscriptExports].export(project_id, session_id, query)
        return body.chunks()

    _write_file(settings, export, output)
    transcript_name = str(make_transcript_id(project_id, session_id))
    location, command = _resume_instructions(query.host, transcript_name, query.folder)
    ERR.print(
        f"Put it into {location}, and resume it with: {command}", soft_wrap=True, markup=False
    )


def write_document(
    settings: Settings, project_id: str, session_id: str, output: Path | None
) -> None:
    """Write a session as one HTML file with its media inside.

    Args:
        settings: The settings of the stores.
        project_id: The project of the session.
        session_id: The session.
        output: A new file; by default standard output.

    Raises:
        CommandError: The file exists, or cannot be written.
        PagefaultError: There is no such session, it is too large, or a store fails.
    """

    async def export(services: Services) -> AsyncIterator[bytes]:
        return (await services[SessionDocuments].write(project_id, session_id)).chunks()

    _write_file(settings, export, output)


def _write_file(
    settings: Settings,
    export: Callable[[Services], Awaitable[AsyncIterator[bytes]]],
    output: Path | None,
) -> None:
    async def write() -> None:
        async with open_services(settings, (*FEATURES, FEATURE)) as services:
            chunks = await export(services)
            if output is None:
                async for chunk in chunks:
                    sys.stdout.buffer.write(chunk)
                return
            # Another file is never replaced: it may be a session that its host still writes.
            async with await anyio.open_file(output, "xb") as file:
                async for chunk in chunks:
                    await file.write(chunk)

    try:
        anyio.run(write)
    except FileExistsError as exc:
        raise CommandError(f"{output} exists: choose another name, or remove it.") from exc
    except OSError as exc:
        raise CommandError(f"{output or 'the output'} cannot be written: {exc.strerror}.") from exc


def _resume_instructions(host: Host, transcript_name: str, folder: str) -> tuple[str, str]:
    """Return the path of a transcript for its host, and the command that resumes it."""
    if host == "codex":
        return (
            f"~/.codex/sessions as rollout-{transcript_name}.jsonl",
            f"codex resume {transcript_name}",
        )
    project = re.sub(r"[^A-Za-z0-9]", "-", folder)
    return (
        f"~/.claude/projects/{project} as {transcript_name}.jsonl",
        f"claude --resume {transcript_name}",
    )
