"""`pagefault page`: a page on the terminal, and as a file, straight from the stores.

Source: spec 000, "`/memory page <id> --download`" and "Enhanced modality display".
"""

import os
import secrets
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from app.models.page import LEVEL_NAMES, Level, parse_level
from app.services.pages.downloads import PageFile
from app.settings import Settings
from app.telemetry import configure_logging
from app.terminal import (
    ERR,
    DataDirOption,
    ProjectOption,
    check_project,
    read_settings,
    say,
)
from app.wiring import Container, open_container

DOWNLOADS = Path("~/.pagefault/downloads")

page = typer.Typer(help="Show and download memory pages.", no_args_is_help=True)

PageArgument = Annotated[str, typer.Argument(metavar="ID", help="The page's id.")]
LevelOption = Annotated[str | None, typer.Option(help=f"{LEVEL_NAMES}, by number or by name.")]
OutputOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where the file goes.", show_default=str(DOWNLOADS)),
]


class DownloadError(Exception):
    """The file cannot be written; the message says why."""


@page.command()
def show(
    page_id: PageArgument,
    download: Annotated[
        bool, typer.Option("--download", help="Save it as a file instead of showing it.")
    ] = False,
    level: LevelOption = None,
    output: OutputOption = None,
    project: ProjectOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Show what is known of a page, field by field; never its media."""
    if download:
        _download(page_id, level, output, project, data_dir)
        return
    settings, project_id = _settings(project, data_dir)

    async def read() -> str:
        async with open_container(settings) as container:
            return await container.page_reading.detail(project_id, page_id)

    typer.echo(anyio.run(read))


@page.command()
def download(
    page_id: PageArgument,
    level: LevelOption = None,
    output: OutputOption = None,
    project: ProjectOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Save a page as a file: its medium, or its text.

    The file behind a URL is fetched once and kept in the store.
    """
    _download(page_id, level, output, project, data_dir)


def _download(
    page_id: str,
    level: str | None,
    output: Path | None,
    project: str | None,
    data_dir: Path | None,
) -> None:
    settings, project_id = _settings(project, data_dir)
    wanted = Level.FULL if level is None else parse_level(level)
    if wanted is None:
        raise typer.BadParameter(f"must be one of {LEVEL_NAMES}", param_hint="--level")
    folder = (output or DOWNLOADS).expanduser()

    async def save() -> tuple[Path, int]:
        async with open_container(settings) as container:
            return await _save(container, project_id, page_id, wanted, folder)

    path, size_bytes = anyio.run(save)
    say(f"{path}  ({decimal(size_bytes)})")


def _settings(project: str | None, data_dir: Path | None) -> tuple[Settings, str]:
    settings = read_settings(data_dir=data_dir)
    configure_logging(settings.log_format, "warning")
    project_id = project or settings.default_project
    check_project(project_id)
    return settings, project_id


async def _save(
    container: Container, project_id: str, page_id: str, level: Level, folder: Path
) -> tuple[Path, int]:
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
    ) as progress:
        task = progress.add_task("fetching", total=None)
        file = await container.page_downloads.file(project_id, page_id, level)
        progress.update(task, description="writing", total=file.size_bytes)
        try:
            return await _write(file, folder, progress, task), file.size_bytes
        except OSError as exc:
            reason = os.strerror(exc.errno) if exc.errno else str(exc)
            raise DownloadError(f"cannot write to {folder}: {reason}") from exc


async def _write(file: PageFile, folder: Path, progress: Progress, task: TaskID) -> Path:
    """Write the file beside its place and move it there, so that half a file is never seen."""
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
