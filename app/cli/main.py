"""The `pagefault` command: it loads its subcommands, and prints their errors.

`app.cli.commands` and the packages of features (`pagefault_mcp`, `pagefault_bundles`,
`pagefault_doctor`) declare commands, their options and their help. A command imports its
implementation when it runs: loading the whole service takes longer than most commands.
"""

import os
import sys
from contextlib import suppress
from pkgutil import resolve_name
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from app.features import find_commands
from app.server.process import accept_deep_json, collect_seldom
from app.telemetry.json_output import is_json_only
from app.version import VERSION


class _Commands(TyperGroup):
    """The commands of all features; a command is loaded when it runs or is listed."""

    def list_commands(self, _: object) -> list[str]:
        """Return the names of all commands."""
        return list(find_commands())

    def get_command(self, _: object, name: str) -> Any:  # noqa: ANN401 - Typer's class is private
        """Return a command, or `None` if no command has this name."""
        if name not in self.commands:
            # The Typer applications as `module:object`, by the names of the commands.
            paths = find_commands()
            # For an unknown name, all commands are loaded, so that Typer can suggest similar names.
            for path in [paths[name]] if name in paths else set(paths.values()):
                group = get_group(resolve_name(path))
                if group.name:
                    self.add_command(group)
                else:
                    self.commands.update(group.commands)
        return self.commands.get(name)


cli = typer.Typer(
    name="pagefault",
    cls=_Commands,
    help="The media memory of AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line. An expected error is printed as one sentence and ends with status 1."""
    # Importing a command creates many objects, but hardly any garbage.
    collect_seldom()
    _open_closed_streams()
    # If click and Rich are installed, httpx imports its own command line, which takes 6 MiB in each
    # `pagefault proxy` that an MCP host starts. With `None`, this import fails, and httpx works
    # without it.
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]
    # Commands accept JSON with the same depth as the server.
    accept_deep_json()
    # Errors are JSON log lines too, but the results of commands stay as they are.
    if is_json_only():
        from app.telemetry.logs import configure_process_logging

        configure_process_logging(with_output=False)
    try:
        cli()
    except SystemExit as exc:
        if isinstance(exc.code, str):
            raise
        _end(exc.code or 0)
    except Exception as exc:  # noqa: BLE001 - printed before the process ends
        from app.cli.error_output import print_error
        from app.cli.terminal import describe_known_error

        sentence = describe_known_error(exc)
        if sentence is None:
            sys.excepthook(type(exc), exc, exc.__traceback__)
        else:
            print_error(sentence)
        _end(1)
    _end(0)


def _open_closed_streams() -> None:
    """Open each closed standard stream again, on the null device.

    Otherwise the next file that is opened could become standard output, which an MCP host reads.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # `os.open` returns the lowest free number. Child processes inherit it.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def _end(status: int) -> NoReturn:
    """End the process without finalizing the interpreter.

    Finalization would wait for a thread that reads from an MCP host, which may take forever. Also,
    a thread of the object store's client may abort the process with an error status then.
    """
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _print_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"pagefault {VERSION}")
        raise typer.Exit


@cli.callback()
def pagefault(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_print_version, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Read the options that belong to no command."""


if __name__ == "__main__":
    main()
