"""The command that searches a project."""

from typing import Annotated

import typer

from app.cli import options

commands = typer.Typer()


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
    from app.cli.terminal import existing_store_settings, resolve_project

    settings = existing_store_settings(data_dir, env_file)
    search_records(
        settings,
        resolve_project(settings, project),
        " ".join(words),
        session=session,
        limit=limit,
        as_json=as_json,
    )
