"""The command that follows events."""

from typing import Annotated

import typer

from app.cli import options

commands = typer.Typer()


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
    from app.cli.terminal import existing_store_settings, resolve_project

    if session and session_option:
        options.refuse({"--session": session_option}, "is given already, without a name")
    settings = existing_store_settings(data_dir, env_file)
    project_id = resolve_project(settings, project)
    session = session or session_option
    tail_events(settings, project_id, session=session, after=after, as_json=as_json)
