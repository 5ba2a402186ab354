"""The commands `pagefault doctor` and `pagefault export`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from app.cli import options
from app.cli.options import create_render_option

HistoryFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE|-",
        dir_okay=False,
        allow_dash=True,
        help="A request that a provider refused, or a list of messages, as JSON or JSON lines; "
        "- for standard input.",
    ),
]

commands = typer.Typer()


@commands.command()
def doctor(
    file: HistoryFile,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The target of the history: anthropic, openai-chat, gemini, bedrock …",
            show_default="the dialect of the history",
        ),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The intended dialect of the history.",
            show_default="that of most messages",
        ),
    ] = None,
    max_tokens: Annotated[int | None, create_render_option("max_tokens", "no limit")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            allow_dash=True,
            help="The file for the repaired request; - for standard output.",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the findings as JSON, as in the HTTP API."),
    ] = False,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="Mend a transcript of Claude Code or Codex; the old file is kept as FILE.bak.",
        ),
    ] = False,
) -> None:
    """Diagnose a history of any dialect, and repair it.

    The status is 1 if there are findings and no --output, and 2 if the file has no history. Nothing
    is stored.
    """
    from pagefault_doctor.history_files import examine_file

    examine_file(
        file,
        target=target,
        dialect=dialect,
        max_tokens=max_tokens,
        output=output,
        as_json=as_json,
        in_place=in_place,
    )


@commands.command()
def export(  # noqa: PLR0913, PLR0917 - one for each option
    session: Annotated[str, typer.Argument(help="The session.")],
    host: Annotated[
        Literal["claude-code", "codex", "html"],
        typer.Option("--as", help="The host that resumes the session, or a file for browsers."),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The new file.", show_default="standard output"),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="DIR",
            help="The folder that the host works in; not for html.",
            show_default="the current folder",
        ),
    ] = None,
    max_tokens: Annotated[int | None, create_render_option("max_tokens", "no limit")] = None,
    project: options.Project = None,
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Write a session as a transcript that Claude Code or Codex resumes, or as one HTML file."""
    from app.cli.terminal import CommandError, read_project_settings
    from pagefault_doctor.session_exports import write_document, write_transcript
    from pagefault_doctor.transcript_exports import TranscriptQuery

    settings, project_id = read_project_settings(data_dir, env_file, project)
    if host == "html":
        if folder is not None or max_tokens is not None:
            raise CommandError("--folder and --max-tokens are for transcripts, not for html.")
        write_document(settings, project_id, session, output)
        return
    query = TranscriptQuery(host, str((folder or Path.cwd()).absolute()), max_tokens)
    write_transcript(settings, project_id, session, query, output)
