"""`pagefault page show`: print or download a page from the stores.

Source: spec 000, "`/memory page <id> --download`" and "Enhanced modality display".
"""

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import typer
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from app.cli.terminal import ERR, CommandError, print_line
from app.config.settings import Settings
from app.services.media.media_checks import MediaChecks
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_reading import PageReading
from app.wiring.stores import open_records
from pagefault_dialects.model.page import LEVEL_NAMES, Level, parse_level

if TYPE_CHECKING:
    from app.services.pages.downloads import PageFile

DOWNLOADS = Path("~/.pagefault/downloads")


def show_page(settings: Settings, project_id: str, page_id: str) -> None:
    """Print the fields of a page as text.

    Raises:
        PagefaultError: There is no such page.
    """

    async def read() -> str:
        async with open_records(settings) as (records, blobs):
            accesses = AccessCounts(records)
            async with accesses.lifespan():
                reading = PageReading(
                    records,
                    blobs,
                    accesses=accesses,
                    checks=MediaChecks(blobs),
                    limits=settings.limits,
                )
                return await reading.detail(project_id, page_id)

    typer.echo(anyio.run(read))


def download_page(
    settings: Settings, project_id: str, page_id: str, *, level: str | None, output: str | None
) -> None:
    """Save a page as a file, and print its path.

    Args:
        settings: The settings of the stores.
        project_id: The project of the page.
        page_id: The page.
        level: The number or name of a level of detail; `None` for the full content.
        output: The folder of the file; `None` for `DOWNLOADS`.

    Raises:
        CommandError: The file cannot be written.
        PagefaultError: There is no such page, or it has no content at this level of detail.
    """
    parsed = Level.FULL if level is None else parse_level(level)
    if parsed is None:
        raise typer.BadParameter(f"must be one of {LEVEL_NAMES}", param_hint="--level")
    folder = (DOWNLOADS if output is None else Path(output)).expanduser()
    path, size_bytes = anyio.run(_save_page, settings, project_id, page_id, parsed, folder)
    print_line(f"{path}  ({decimal(size_bytes)})")


async def _save_page(
    settings: Settings, project_id: str, page_id: str, level: Level, folder: Path
) -> tuple[Path, int]:
    # These imports are slow, and only a download needs the services that fetch files.
    from app.features import open_services  # noqa: PLC0415
    from app.services.pages.downloads import PageDownloads  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    progress = Progress(*columns, console=ERR, transient=True, disable=not ERR.is_terminal)
    async with open_services(settings) as services:
        with progress:
            task = progress.add_task("fetching", total=None)
            file = await services[PageDownloads].open_file(project_id, page_id, level)
            progress.update(task, description="writing", total=file.size_bytes)
            try:
                return await _write_file(file, folder, progress, task), file.size_bytes
            except OSError as exc:
                reason = os.strerror(exc.errno) if exc.errno else str(exc)
                raise CommandError(f"cannot write to {folder}: {reason}") from exc


async def _write_file(file: "PageFile", folder: Path, progress: Progress, task: TaskID) -> Path:
    """Write to a temporary file and rename it, so that no reader sees an incomplete file."""
    path = anyio.Path(folder) / file.filename
    await path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        async with await unfinished.open("xb") as target:
            async for chunk in await file.open(0, file.size_bytes):
                await target.write(chunk)
                progress.advance(task, len(chunk))
        await unfinished.replace(path)
    finally:
        await unfinished.unlink(missing_ok=True)
    return Path(path)
