"""`pagefault keys`: make, list and revoke API keys, straight in the database."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
import typer

from app.cli.complaints import check_project, complain
from app.cli.terminal import ERR, OUT, one_line, printable, read_settings, say
from app.services.access.callers import Access
from app.telemetry.logs import configure_logging
from app.wiring.stores import open_access

_T = TypeVar("_T")


def create_key(data_dir: Path | None, env_file: Path | None, *, project: str, label: str) -> None:
    """Make a key and print it."""
    check_project(project)
    made = _with_access(data_dir, env_file, lambda access: access.create_key(project, label))
    typer.echo(made)


def list_keys(data_dir: Path | None, env_file: Path | None) -> None:
    """Print all keys, without their secrets."""
    # Nothing else here draws a table.
    from rich.table import Table  # noqa: PLC0415

    table = Table("id", "project", "label", "created", "revoked")
    for key in _with_access(data_dir, env_file, Access.list_keys):
        revoked = f"{key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else ""
        created = f"{key.created_at:%Y-%m-%d %H:%M}"
        table.add_row(key.key_id, key.project_id, printable(key.label), created, revoked)
    if table.row_count:
        OUT.print(table)
    else:
        say("There are no keys. `pagefault keys create --project NAME` makes one.", to=ERR)


def revoke_key(data_dir: Path | None, env_file: Path | None, *, key_id: str) -> None:
    """Revoke a key.

    Raises:
        SystemExit: There is no such key, or it is revoked already.
    """
    if not _with_access(data_dir, env_file, lambda access: access.revoke_key(key_id)):
        complain(f"there is no valid key {one_line(key_id)}")
        raise SystemExit(1)
    say(f"Revoked {key_id}.")


def _with_access(
    data_dir: Path | None, env_file: Path | None, action: Callable[[Access], Awaitable[_T]]
) -> _T:
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")

    async def run() -> _T:
        async with open_access(settings) as access:
            return await action(access)

    return anyio.run(run)
