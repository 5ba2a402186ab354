"""The `pagefault` command: its parts, their options and their help.

What a command does is in a module of its own, which is loaded when the command runs: to load the
whole service takes longer than most commands do, and `--help` needs none of it.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from app.cli import options
from app.cli.mcp_commands import hosts
from app.server.process import accept_deep_json, collect_as_usual, collect_seldom
from app.telemetry.json_output import is_json_only
from app.version import VERSION

cli = typer.Typer(
    name="pagefault",
    help="The media memory of AI agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
keys = typer.Typer(help="Make, list and revoke API keys.", no_args_is_help=True)
page = typer.Typer(help="Show and download memory pages.", no_args_is_help=True)
cli.add_typer(hosts)
cli.add_typer(keys, name="keys")
cli.add_typer(page, name="page")


def main() -> None:
    """Run the command line; what is expected to go wrong ends in one sentence and status 1."""
    collect_seldom()
    _open_closed_streams()
    _leave_out_httpx_command()
    # Commands read what the server has stored, and `ingest` what it would have accepted.
    accept_deep_json()
    if is_json_only():
        from app.telemetry.logs import configure_process_logging

        configure_process_logging(with_output=False)
    try:
        cli()
    except SystemExit as exc:
        if isinstance(exc.code, str):
            raise
        _end(exc.code or 0)
    except Exception as exc:  # noqa: BLE001 - is told, and the process ends
        from app.cli.complaints import complain
        from app.cli.terminal import expected_sentence

        sentence = expected_sentence(exc)
        if sentence is None:
            sys.excepthook(type(exc), exc, exc.__traceback__)
        else:
            complain(sentence)
        _end(1)
    _end(0)


def _open_closed_streams() -> None:
    """Have standard streams that were closed lead nowhere.

    What is opened next would take their numbers, and what is printed to `None` goes to standard
    output, where a host reads.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is taken. Servers that a proxy starts have it too.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdin = sys.stdin or open(0)  # noqa: SIM115 - until the process ends
    sys.stdout = sys.stdout or open(1, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w")  # noqa: SIM115


def _leave_out_httpx_command() -> None:
    """Have `import httpx` leave out the command line that it has of its own.

    It does without one where click and Rich are not installed. Here they are, and would take 6 MiB
    of each proxy that a host starts. `None` in `sys.modules` makes an import fail as if the module
    were not there ("The import system" in Python's reference).
    """
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]


def _end(status: int) -> NoReturn:
    """End the process, at once.

    The client of the object store has threads of its own. One that comes back while the interpreter
    is being taken down aborts the process, with a status that says something went wrong. And one
    that waits for a host's next word would be waited for.
    """
    with suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status)


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"pagefault {VERSION}")
        raise typer.Exit


@cli.callback()
def pagefault(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_tell_version, help="Show the version and end."
        ),
    ] = False,
) -> None:
    """Take the options that belong to no command."""


@cli.command()
def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port; 0 takes a free one.", show_default="8000")
    ] = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
    workers: Annotated[int | None, typer.Option(help="Server processes.", show_default="1")] = None,
) -> None:
    """Serve the API. The embedded database is brought up to date first."""
    from app.cli.serve import serve_api

    collect_as_usual()
    serve_api(data_dir, env_file, host=host, port=port, workers=workers)


@cli.command()
def migrate(data_dir: options.DataDir = None, env_file: options.EnvFile = None) -> None:
    """Bring the database to the schema this version needs."""
    from app.cli.stores import migrate_stores

    migrate_stores(data_dir, env_file)


@keys.command("create")
def create_key(
    project: Annotated[str, typer.Option(help="The key's project; made if there is none.")],
    label: Annotated[str, typer.Option(help="A note on who uses the key.")] = "",
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Make a key and print it, once; it is not kept and cannot be shown again."""
    from app.cli import keys as key_commands

    key_commands.create_key(data_dir, env_file, project=project, label=label)


@keys.command("list")
def list_keys(data_dir: options.DataDir = None, env_file: options.EnvFile = None) -> None:
    """List all keys, without their secrets."""
    from app.cli import keys as key_commands

    key_commands.list_keys(data_dir, env_file)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it.")],
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Revoke a key; the next request with it is refused."""
    from app.cli import keys as key_commands

    key_commands.revoke_key(data_dir, env_file, key_id=key_id)


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
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Store a tool result straight from a file and show what became of it.

    FILE holds what a tool returned, or a whole request (toolName, toolCallId, result).
    """
    from app.cli.ingest import ingest_file
    from app.cli.terminal import OUT, project_settings

    settings, project_id = project_settings(data_dir, env_file, project)
    ingest_file(
        settings,
        file,
        session_id=session,
        tool_name=tool_name,
        tool_call_id=tool_call_id,
        project_id=project_id,
        console=OUT,
    )


@cli.command()
def doctor(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE|-",
            dir_okay=False,
            allow_dash=True,
            help="A request that a provider refused, or a list of messages, as JSON or JSON lines; "
            "- for standard input.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The provider that gets the history: anthropic, openai-chat, gemini, bedrock …",
            show_default="that of the history's dialect",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What the history is meant to be written in.",
            show_default="what most of it is",
        ),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The most tokens; what is old gives way to smaller levels of itself.",
            show_default="as many as it has",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            allow_dash=True,
            help="Where the healed request goes; - for the terminal.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print what is found as JSON, as the HTTP service answers."),
    ] = False,
) -> None:
    """Find what is wrong with a history of any dialect, and heal it.

    The status is 1 if something is wrong and no healed history is asked for, 2 if there is no
    history to be read. Nothing is stored.
    """
    from app.cli.doctor import examine_file

    examine_file(
        file, target=target, dialect=dialect, max_tokens=max_tokens, output=output, as_json=as_json
    )


@page.command()
def show(
    page_id: options.Page,
    download: Annotated[
        bool, typer.Option("--download", help="Save it as a file instead of showing it.")
    ] = False,
    level: options.Level = None,
    output: options.Output = None,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Show what is known of a page, field by field; never its media."""
    from app.cli.pages import download_page, show_page
    from app.cli.terminal import project_settings

    settings, project_id = project_settings(data_dir, env_file, project)
    if download:
        download_page(settings, project_id, page_id, level=level, output=output)
    else:
        show_page(settings, project_id, page_id)


@page.command("download")
def download(
    page_id: options.Page,
    level: options.Level = None,
    output: options.Output = None,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Save a page as a file: its medium, or its text.

    The file behind a URL is fetched once and kept in the store.
    """
    show(page_id, True, level, output, project, data_dir, env_file)


@cli.command("gc")
def sweep(
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS|30m|24h|7d",
            help="How old a file that nothing refers to has to be.",
            show_default="PAGEFAULT_SWEEP__GRACE_SECONDS",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Remove files that nothing refers to, and uploads and keys whose time is over."""
    from app.cli.stores import sweep_stores

    sweep_stores(data_dir, env_file, grace=grace, dry_run=dry_run)


@cli.command("fsck")
def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="Move damaged files to where nobody is served them.")
    ] = False,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Read every stored file through and check it.

    Ends with status 1 if something is wrong, 2 if it could not be checked.
    """
    from app.cli.stores import check_stores

    check_stores(data_dir, env_file, repair=repair)


@cli.command()
def tail(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="[SESSION]",
            help="Only what is written to this session.",
            show_default="all sessions of the project",
        ),
    ] = None,
    session_option: Annotated[
        str | None, typer.Option("--session", metavar="SESSION", help="The same, by name.")
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Begin behind this seq of the session, or this number of the project; 0 for "
            "everything there ever was.",
            show_default="now",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each event as a line of JSON.")
    ] = False,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Show events as they are written, straight from the stores, until interrupted."""
    from app.cli.tail import tail_events
    from app.cli.terminal import existing_stores, project_of

    if session and session_option:
        options.refuse({"--session": session_option}, "is given already, without a name")
    settings = existing_stores(data_dir, env_file)
    project_id = project_of(settings, project)
    session = session or session_option
    tail_events(settings, project_id, session=session, after=after, as_json=as_json)


if __name__ == "__main__":
    main()
