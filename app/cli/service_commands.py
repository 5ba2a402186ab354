"""The commands that start the service and maintain its stores."""

from typing import Annotated

import typer

from app.cli import options
from app.server.process import collect_as_usual

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

    collect_as_usual()
    serve_api(data_dir, env_file, host=host, port=port, workers=workers)


@commands.command()
def migrate(data_dir: options.DataDir = None, env_file: options.EnvFile = None) -> None:
    """Bring the database to the schema this version needs."""
    from app.cli.stores import migrate_stores

    migrate_stores(data_dir, env_file)


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
    from app.cli.terminal import existing_store_settings, resolve_project

    settings = existing_store_settings(data_dir, env_file)
    show_stats(settings, resolve_project(settings, project), as_json=as_json)
