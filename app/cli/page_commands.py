"""The commands of memory pages."""

from typing import Annotated

import typer

from app.cli import options

commands = typer.Typer(
    name="page", help="List, show and download memory pages.", no_args_is_help=True
)


@commands.command()
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
        options.refuse(local, "cannot be used with --url, which only shows a page")
        from app.cli.remote_pages import show_remote_page

        show_remote_page(url, page_id)
        return
    from app.cli.pages import download_page, show_page
    from app.cli.terminal import project_settings

    settings, project_id = project_settings(data_dir, env_file, project)
    if download:
        download_page(settings, project_id, page_id, level=level, output=output)
    else:
        show_page(settings, project_id, page_id)


@commands.command("list")
def list_pages(
    session: options.Session = None,
    modality: Annotated[
        str | None, typer.Option(help="text, image, audio, video or structured.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="The most pages.")] = 50,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each page as a line of JSON.")
    ] = False,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """List pages, newest first, a line each."""
    from app.cli import listings
    from app.cli.terminal import existing_store_settings, resolve_project
    from pagefault_dialects.model.page import MODALITIES

    kind = next((each for each in MODALITIES if each == modality), None)
    if modality is not None and kind is None:
        raise typer.BadParameter(f"must be one of {', '.join(MODALITIES)}", param_hint="--modality")
    settings = existing_store_settings(data_dir, env_file)
    listings.list_pages(
        settings,
        resolve_project(settings, project),
        session=session,
        modality=kind,
        limit=limit,
        as_json=as_json,
    )


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
    show(page_id, True, level, output, None, project, data_dir, env_file)
