"""The commands of the service, with their options and help.

Each command imports its implementation when it runs, so that `--help` and other commands do not
load it.
"""

from pathlib import Path
from typing import Annotated

import typer

from app.cli import options
from app.server.process import restore_default_gc

commands = typer.Typer()


@commands.command()
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

    # Short commands collect garbage rarely; a server runs long.
    restore_default_gc()
    serve_api(data_dir, env_file, host=host, port=port, workers=workers)


@commands.command()
def migrate(
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="Print the statements and their locks, and stop.")
    ] = False,
) -> None:
    """Bring the database to the schema of this version, while running servers use it."""
    from app.cli.stores import migrate_stores, print_migration_plan

    if plan:
        print_migration_plan(data_dir, env_file)
    else:
        migrate_stores(data_dir, env_file)


@commands.command()
def status(
    as_json: options.Json = False,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Report the state of the stores, with or without a running server.

    Ends with status 1 if anything needs attention.
    """
    from app.cli.status import show_status

    show_status(data_dir, env_file, as_json=as_json)


@commands.command("gc")
def sweep(
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS|30m|24h|7d",
            help="Minimum age of an unreferenced file.",
            show_default="PAGEFAULT_SWEEP__GRACE_SECONDS",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be removed, and remove nothing.")
    ] = False,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Remove unreferenced files, expired uploads and expired idempotency keys."""
    from app.cli.stores import sweep_stores

    sweep_stores(data_dir, env_file, grace=grace, dry_run=dry_run)


@commands.command("fsck")
def check(
    repair: Annotated[
        bool, typer.Option("--repair", help="Move damaged files to quarantine.")
    ] = False,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Read every stored file through and check it.

    Ends with status 1 if a file is damaged or missing, 2 if the check could not finish.
    """
    from app.cli.stores import check_stores

    check_stores(data_dir, env_file, repair=repair)


@commands.command()
def stats(
    as_json: options.Json = False,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Count the sessions, results, pages, resources and bytes of a project."""
    from app.cli.listings import show_stats
    from app.cli.terminal import read_existing_store_settings, resolve_project

    settings = read_existing_store_settings(data_dir, env_file)
    show_stats(settings, resolve_project(settings, project), as_json=as_json)


@commands.command()
def ingest(  # noqa: PLR0913, PLR0917 - one for each option
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="A tool result as JSON, or a transcript as FILE.jsonl; - reads from a pipe.",
        ),
    ],
    session: Annotated[str, typer.Option(help="The session to add it to.")],
    tool_name: Annotated[str, typer.Option(help="The tool that returned it.")] = "cli",
    tool_call_id: Annotated[
        str | None,
        typer.Option(help="The id of the tool call.", show_default="derived from the content"),
    ] = None,
    fork: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="For a transcript: the id of a fork of SESSION that gets the messages if SESSION "
            "has a different conversation.",
        ),
    ] = None,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Store a tool result and show its parts (texts, images, files), or store a conversation.

    FILE holds the result of a tool, or a whole request (toolName, toolCallId, result). FILE.jsonl
    is a transcript of Claude Code or Codex; the session gets the messages that it lacks.
    """
    from app.cli.ingest import ingest_file
    from app.cli.terminal import OUT, read_project_settings

    settings, project_id = read_project_settings(data_dir, env_file, project)
    if file.endswith(".jsonl"):
        from app.cli.transcripts import ingest_transcript

        ingest_transcript(
            settings, Path(file), session_id=session, project_id=project_id, fork_id=fork
        )
        return
    ingest_file(
        settings,
        file,
        session_id=session,
        tool_name=tool_name,
        tool_call_id=tool_call_id,
        project_id=project_id,
        console=OUT,
    )


@commands.command()
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
        str | None,
        typer.Option("--session", metavar="SESSION", help="The session, instead of the argument."),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Start after this number (seq) of the session or, without a session, of the "
            "project; 0 starts at the first event.",
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
    from app.cli.terminal import read_existing_store_settings, resolve_project

    if session and session_option:
        options.reject_options(
            {"--session": session_option}, "cannot be combined with the argument SESSION"
        )
    settings = read_existing_store_settings(data_dir, env_file)
    project_id = resolve_project(settings, project)
    session = session or session_option
    tail_events(settings, project_id, session=session, after=after, as_json=as_json)


@commands.command()
def search(
    words: Annotated[list[str], typer.Argument(help="What to search for.")],
    session: options.Session = None,
    limit: options.Limit = 20,
    as_json: options.Json = False,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Search pages, results, messages and file names, best match first."""
    from app.cli.listings import search_records
    from app.cli.terminal import read_existing_store_settings, resolve_project

    settings = read_existing_store_settings(data_dir, env_file)
    search_records(
        settings,
        resolve_project(settings, project),
        " ".join(words),
        session=session,
        limit=limit,
        as_json=as_json,
    )


pages = typer.Typer(name="page", help="List, show and download memory pages.", no_args_is_help=True)


@pages.command()
def show(  # noqa: PLR0913, PLR0917 - one for each option
    page_id: options.Page,
    download: Annotated[
        bool, typer.Option("--download", help="Save it as a file instead of showing it.")
    ] = False,
    level: options.Level = None,
    output: options.Output = None,
    url: Annotated[
        str | None,
        typer.Option(
            "--url",
            help="Read the page from a running service instead of the stores; the key is in "
            "PAGEFAULT_API_KEY.",
        ),
    ] = None,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Show the fields of a page, without its media."""
    if url is not None:
        local: dict[str, object] = {"--download": download, "--level": level, "--output": output}
        local |= {"--project": project, "--data-dir": data_dir, "--env-file": env_file}
        options.reject_options(local, "cannot be used with --url, which only shows a page")
        from app.cli.remote_pages import show_remote_page

        show_remote_page(url, page_id)
        return
    from app.cli.pages import download_page, show_page
    from app.cli.terminal import read_project_settings

    settings, project_id = read_project_settings(data_dir, env_file, project)
    if download:
        download_page(settings, project_id, page_id, level=level, output=output)
    else:
        show_page(settings, project_id, page_id)


@pages.command("list")
def list_pages(
    session: options.Session = None,
    modality: Annotated[
        str | None, typer.Option(help="text, image, audio, video or structured.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Maximum number of pages.")] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each page as a line of JSON.")
    ] = False,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """List pages, newest first, a line each."""
    from app.cli import listings
    from app.cli.terminal import read_existing_store_settings, resolve_project
    from pagefault_dialects.model.page import MODALITIES

    kind = next((item for item in MODALITIES if item == modality), None)
    if modality is not None and kind is None:
        raise typer.BadParameter(f"must be one of {', '.join(MODALITIES)}", param_hint="--modality")
    settings = read_existing_store_settings(data_dir, env_file)
    listings.list_pages(
        settings,
        resolve_project(settings, project),
        session=session,
        modality=kind,
        limit=limit,
        as_json=as_json,
    )


@pages.command("download")
def download(
    page_id: options.Page,
    level: options.Level = None,
    output: options.Output = None,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Save a page as a file: its image, audio or video, or its text.

    If the page refers to its content by a URL, the file is fetched once and kept in the store.
    """
    show(
        page_id,
        download=True,
        level=level,
        output=output,
        project=project,
        data_dir=data_dir,
        env_file=env_file,
    )


keys = typer.Typer(name="keys", help="Make, list and revoke API keys.", no_args_is_help=True)


@keys.command("create")
def create_key(
    project: Annotated[str, typer.Option(help="The key's project; made if there is none.")],
    label: Annotated[str, typer.Option(help="A note on who uses the key.")] = "",
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Make a key and print it, once; it is not kept and cannot be shown again."""
    from app.cli import keys as stored_keys

    stored_keys.create_key(data_dir, env_file, project=project, label=label)


@keys.command("list")
def list_keys(data_dir: options.DataDir = None, env_file: options.EnvFile = None) -> None:
    """List all keys, without their secrets."""
    from app.cli import keys as stored_keys

    stored_keys.list_keys(data_dir, env_file)


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it.")],
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Revoke a key; the next request with it is refused."""
    from app.cli import keys as stored_keys

    stored_keys.revoke_key(data_dir, env_file, key_id=key_id)
