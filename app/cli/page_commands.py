"""The commands of memory pages."""

from typing import Annotated

import typer

from app.cli import options

commands = typer.Typer(name="page", help="Show and download memory pages.", no_args_is_help=True)


@commands.command()
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


@commands.command("download")
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
