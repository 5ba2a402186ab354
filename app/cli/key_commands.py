"""The commands of API keys."""

from typing import Annotated

import typer

from app.cli import options

commands = typer.Typer(name="keys", help="Make, list and revoke API keys.", no_args_is_help=True)


@commands.command("create")
def create_key(
    project: Annotated[str, typer.Option(help="The key's project; made if there is none.")],
    label: Annotated[str, typer.Option(help="A note on who uses the key.")] = "",
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Make a key and print it, once; it is not kept and cannot be shown again."""
    from app.cli import keys as key_commands

    key_commands.create_key(data_dir, env_file, project=project, label=label)


@commands.command("list")
def list_keys(data_dir: options.DataDir = None, env_file: options.EnvFile = None) -> None:
    """List all keys, without their secrets."""
    from app.cli import keys as key_commands

    key_commands.list_keys(data_dir, env_file)


@commands.command("revoke")
def revoke_key(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `keys list` shows it.")],
    data_dir: options.DataDir = None,
    env_file: options.EnvFile = None,
) -> None:
    """Revoke a key; the next request with it is refused."""
    from app.cli import keys as key_commands

    key_commands.revoke_key(data_dir, env_file, key_id=key_id)
