"""`pagefault keys`: create, list and revoke API keys in the database, without a server."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import anyio
import typer

from app.cli.error_output import check_project, print_error
from app.cli.terminal import (
    ERR,
    OUT,
    escape_for_console,
    print_line,
    read_settings,
    to_one_line,
)
from app.services.access.callers import Access
from app.telemetry.logs import configure_logging
from app.wiring.stores import open_access

_Result = TypeVar("_Result")


def create_key(data_dir: Path | None, env_file: Path | None, *, project: str, label: str) -> None:
    """Create a key and print it."""
    check_project(project)
    key = _run_with_access(data_dir, env_file, lambda access: access.create_key(project, label))
    typer.echo(key)


def list_keys(data_dir: Path | None, env_file: Path | None) -> None:
    """Print all keys, without their secrets."""
    # Rich's tables take long to import, and only this command prints one.
    from rich.table import Table  # noqa: PLC0415

    table = Table("id", "project", "label", "created", "revoked")
    for key in _run_with_access(data_dir, env_file, Access.list_keys):
        revoked = f"{key.revoked_at:%Y-%m-%d %H:%M}" if key.revoked_at else ""
        created = f"{key.created_at:%Y-%m-%d %H:%M}"
        table.add_row(key.key_id, key.project_id, escape_for_console(key.label), created, revoked)
    if table.row_count:
        OUT.print(table)
    else:
        print_line("There are no keys. `pagefault keys create --project NAME` makes one.", to=ERR)


def revoke_key(data_dir: Path | None, env_file: Path | None, *, key_id: str) -> None:
    """Revoke a key.

    Raises:
        SystemExit: There is no such key, or it is revoked already.
    """
    if not _run_with_access(data_dir, env_file, lambda access: access.revoke_key(key_id)):
        print_error(f"there is no valid key {to_one_line(key_id)}")
        raise SystemExit(1)
    print_line(f"Revoked {key_id}.")


def _run_with_access(
    data_dir: Path | None, env_file: Path | None, action: Callable[[Access], Awaitable[_Result]]
) -> _Result:
    """Open the database, run an action on its keys, and return the result."""
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")

    async def run() -> _Result:
        async with open_access(settings) as access:
            return await action(access)

    return anyio.run(run)
