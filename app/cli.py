"""The `pagefault` command: serve, migrate, keys, ingest, page, tail, gc, fsck."""

import os
import socket
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn, TypeVar

import anyio
import typer
import uvicorn
from rich.table import Table
from uvicorn.supervisors import Multiprocess

from app.errors import ServiceError, StoreUnavailableError
from app.ingesting import IngestError, ingest_file, printable
from app.models.project import ApiKey
from app.page_commands import DownloadError, page
from app.services.access import Access
from app.settings import Settings
from app.store_commands import check_stores, sweep_stores
from app.tail_command import tail_events
from app.telemetry import configure_logging, configure_process_logging, tell_address
from app.terminal import (
    ERR,
    OUT,
    DataDirOption,
    ProjectOption,
    check_project,
    complain,
    read_settings,
    say,
)
from app.wiring import (
    DataDirectoryError,
    MissingSigningKeysError,
    OutdatedDatabaseError,
    SettingError,
    migrate_database,
    open_access,
    open_container,
)

_T = TypeVar("_T")

cli = typer.Typer(
    name="pagefault",
    help="The media memory of AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
cli.add_typer(keys, name="keys")
cli.add_typer(page, name="page")
cli.command("gc")(sweep_stores)
cli.command("fsck")(check_stores)
cli.command("tail")(tail_events)

_EXPECTED = (
    ServiceError,
    DataDirectoryError,
    OutdatedDatabaseError,
    MissingSigningKeysError,
    SettingError,
    IngestError,
    DownloadError,
)


def main() -> None:
    """Run the command line; what is expected to go wrong ends in one sentence and status 1."""
    configure_process_logging(with_output=False)
    try:
        cli()
    except _EXPECTED as exc:
        cause = exc.cause if isinstance(exc, StoreUnavailableError) else None
        complain(cause or str(exc))
        _end(1)
    except SystemExit as exc:
        if isinstance(exc.code, str):
            raise
        _end(exc.code or 0)
    _end(0)


def _end(status: int) -> NoReturn:
    """End the process, at once.

    The client of the object store has threads of its own. One that comes back while the interpreter
    is being taken down aborts the process, with a status that says something went wrong.
    """
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


@cli.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one.", show_default="8000")
    ] = None,
    data_dir: DataDirOption = None,
    workers: Annotated[int | None, typer.Option(help="Server processes.", show_default="1")] = None,
) -> None:
    """Serve the API. The embedded database is brought up to date first."""
    # The web framework is a quarter of what there is to load, and no other command needs it.
    from app.server import allow_open_files, server_config  # noqa: PLC0415

    configure_process_logging(with_output=True)
    settings = read_settings(host=host, port=port, data_dir=data_dir, workers=workers)
    listening = _listen(settings.host, settings.port)
    port = listening.getsockname()[1]
    settings = settings.model_copy(update={"port": port})
    _hand_to_workers(settings)
    configure_logging(settings.log_format, settings.log_level)
    # Once here, so that a mistake in the settings is one sentence and not a worker's traceback,
    # and so that workers find the database migrated.
    anyio.run(_open_once, settings)
    sentence = f"Pagefault is at http://{_shown_host(settings.host)}:{port}  (docs: /docs)"
    if not tell_address(sentence):
        say(sentence, to=ERR)
    config = server_config(settings)
    allow_open_files(settings)
    if settings.workers == 1:
        uvicorn.Server(config).run(sockets=[listening])
    else:
        with tempfile.TemporaryDirectory(prefix="pagefault-metrics-") as shared:
            # Where the workers put their metrics, so that each can show those of all.
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
            Multiprocess(config, sockets=[listening]).run()


@cli.command()
def migrate(data_dir: DataDirOption = None) -> None:
    """Bring the database to the schema this version needs."""
    before, after = anyio.run(migrate_database, read_settings(data_dir=data_dir))
    if before == after:
        say(f"The database is up to date (revision {after}).")
    else:
        say(f"Migrated the database from {before or 'nothing'} to revision {after}.")


@keys.command("create")
def create_key(
    project: Annotated[str, typer.Option(help="The key's project; made if there is none.")],
    label: Annotated[str, typer.Option(help="A note on who uses the key.")] = "",
    data_dir: DataDirOption = None,
) -> None:
    """Make a key and print it, once; it is not kept and cannot be shown again."""
    check_project(project)

    async def create(access: Access) -> str:
        return await access.create_key(project, label)

    typer.echo(_with_access(data_dir, create))


@keys.command("list")
def list_keys(data_dir: DataDirOption = None) -> None:
    """List all keys, without their secrets."""

    async def all_keys(access: Access) -> list[ApiKey]:
        return await access.list_keys()

    table = Table("id", "project", "label", "created", "revoked")
    for key in _with_access(data_dir, all_keys):
        revoked = f"{key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else ""
        created = f"{key.created_at:%Y-%m-%d %H:%M}"
        table.add_row(key.key_id, key.project_id, printable(key.label), created, revoked)
    if table.row_count:
        OUT.print(table)
    else:
        say("There are no keys. `pagefault keys create --project NAME` makes one.", to=ERR)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it.")],
    data_dir: DataDirOption = None,
) -> None:
    """Revoke a key; the next request with it is refused."""

    async def revoke(access: Access) -> bool:
        return await access.revoke_key(key_id)

    if not _with_access(data_dir, revoke):
        complain(f"there is no valid key {printable(key_id)}")
        raise SystemExit(1)
    say(f"Revoked {key_id}.")


@cli.command()
def ingest(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A tool result as JSON; - reads from a pipe.")
    ],
    session: Annotated[str, typer.Option(help="The session to add it to.")],
    tool_name: Annotated[str, typer.Option(help="The tool that returned it.")] = "cli",
    tool_call_id: Annotated[
        str | None,
        typer.Option(help="The call it answers.", show_default="named after the content"),
    ] = None,
    project: ProjectOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Store a tool result straight from a file and show what became of it.

    FILE holds what a tool returned, or a whole request (toolName, toolCallId, result).
    """
    settings = read_settings(data_dir=data_dir)
    configure_logging(settings.log_format, "warning")
    check_project(project or settings.default_project)
    ingest_file(
        settings,
        file,
        session_id=session,
        tool_name=tool_name,
        tool_call_id=tool_call_id,
        project_id=project or settings.default_project,
        console=OUT,
    )


def _with_access(data_dir: Path | None, action: Callable[[Access], Awaitable[_T]]) -> _T:
    settings = read_settings(data_dir=data_dir)
    configure_logging(settings.log_format, "warning")

    async def run() -> _T:
        async with open_access(settings) as access:
            return await action(access)

    return anyio.run(run)


async def _open_once(settings: Settings) -> None:
    async with open_container(settings):
        return


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as exc:
        reason = os.strerror(exc.errno) if exc.errno else str(exc)
        complain(f"cannot listen on {host}:{port}: {reason}. `--port 0` takes a free port.")
        raise SystemExit(1) from exc
    listening.set_inheritable(True)
    return listening


def _hand_to_workers(settings: Settings) -> None:
    """Put what the command line said where worker processes read their settings."""
    os.environ["PAGEFAULT_HOST"] = settings.host
    os.environ["PAGEFAULT_PORT"] = str(settings.port)
    os.environ["PAGEFAULT_DATA_DIR"] = str(settings.data_dir.resolve())
    os.environ["PAGEFAULT_WORKERS"] = str(settings.workers)


def _shown_host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


if __name__ == "__main__":
    main()
