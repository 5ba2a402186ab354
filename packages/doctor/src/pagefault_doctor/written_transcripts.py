"""`pagefault export`: write a session as the file of a host, without a server."""

import re
import sys
from pathlib import Path

import anyio

from app.cli.terminal import ERR, CommandError
from app.config.settings import Settings
from app.features import FEATURES, open_services
from pagefault_doctor.feature import FEATURE
from pagefault_doctor.transcript_exports import TranscriptExports, TranscriptQuery, transcript_id
from pagefault_doctor.transcript_files import Host


def write_transcript(
    settings: Settings,
    project_id: str,
    session_id: str,
    query: TranscriptQuery,
    output: Path | None,
) -> None:
    """Write a transcript, and print where its host looks for it, and how it resumes it.

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
    try:
        anyio.run(_write, settings, project_id, session_id, query, output)
    except FileExistsError as exc:
        raise CommandError(f"{output} exists: choose another name, or remove it.") from exc
    except OSError as exc:
        raise CommandError(f"{output or 'the output'} cannot be written: {exc.strerror}.") from exc
    name = str(transcript_id(project_id, session_id))
    place, command = _resumption(query.host, name, query.folder)
    ERR.print(f"Put it into {place}, and resume it with: {command}", soft_wrap=True, markup=False)


async def _write(
    settings: Settings,
    project_id: str,
    session_id: str,
    query: TranscriptQuery,
    output: Path | None,
) -> None:
    async with open_services(settings, (*FEATURES, FEATURE)) as services:
        body = await services[TranscriptExports].export(project_id, session_id, query)
        if output is None:
            async for chunk in body.chunks():
                sys.stdout.buffer.write(chunk)
            return
        # Another file is never replaced: it may be a session that its host still writes.
        async with await anyio.open_file(output, "xb") as file:
            async for chunk in body.chunks():
                await file.write(chunk)


def _resumption(host: Host, name: str, folder: str) -> tuple[str, str]:
    """Return the path of a transcript for its host, and the command that resumes it."""
    if host == "codex":
        return f"~/.codex/sessions as rollout-{name}.jsonl", f"codex resume {name}"
    project = re.sub(r"[^A-Za-z0-9]", "-", folder)
    return f"~/.claude/projects/{project} as {name}.jsonl", f"claude --resume {name}"
