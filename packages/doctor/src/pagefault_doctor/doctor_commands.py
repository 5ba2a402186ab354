"""The command `pagefault doctor`."""

from pathlib import Path
from typing import Annotated

import typer

commands = typer.Typer()


@commands.command()
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
    from pagefault_doctor.history_files import examine_file

    examine_file(
        file, target=target, dialect=dialect, max_tokens=max_tokens, output=output, as_json=as_json
    )
