"""The command that stores a tool result."""

from typing import Annotated

import typer

from app.cli import options

commands = typer.Typer()


@commands.command()
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
    """Store a tool result from a file and show its parts.

    FILE holds the result of a tool, or a whole request (toolName, toolCallId, result).
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
