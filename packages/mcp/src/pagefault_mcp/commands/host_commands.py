"""The commands that start the processes of MCP.

An MCP host, such as a desktop application with a model, starts `pagefault proxy` and `pagefault
mcp`. A proxy starts the hidden command `pagefault serve-proxies`. Imports inside functions keep the
start of each command short.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import options as common
from app.server.process import release_freed_memory, restore_default_gc
from pagefault_dialects.model.render_options import RenderOptions, find_changed_options
from pagefault_mcp.commands import host_options as options

if TYPE_CHECKING:
    from pagefault_mcp.proxy.call_traces import CallTraces
    from pagefault_mcp.proxy.proxy_process import (
        HostOptions,
        ProxyService,
        ServeHosts,
        ServerTarget,
    )

commands = typer.Typer()


@commands.command()
def proxy(  # noqa: PLR0913, PLR0917 - one parameter for each option
    session: options.ProxySession = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND…]", help="The MCP server, behind `--`."),
    ] = None,
    upstream: options.UpstreamUrl = None,
    header: options.UpstreamHeader = None,
    transport: options.Transport = "auto",
    listen: options.Listen = None,
    config: options.HostConfig = None,
    undo: options.Undo = False,
    dry_run: options.HostDryRun = False,
    max_bytes: options.MaxBytes = None,
    max_images: options.MaxImages = None,
    max_tokens: options.MaxTokens = None,
    max_text: options.MaxText = None,
    max_image_pixels: options.MaxImagePixels = None,
    tools: options.MemoryTools = True,
    prefix: options.Prefix = "",
    files: options.Files = None,
    collect: options.Collect = None,
    url: options.ProxyServiceUrl = None,
    project: common.Project = None,
    data_dir: options.DataDir = None,
    env_file: common.EnvFile = None,
) -> None:
    """Run an MCP server and store the results of its tools; long texts become previews.

    Write it before the server's command: pagefault proxy --session demo -- npx -y some-server
    """
    server_options: dict[str, object] = {"COMMAND": command, "--upstream": upstream}
    server_options |= {"--header": header, "--transport": transport != "auto", "--listen": listen}
    _check_config(config, server_options, {"--undo": undo, "--dry-run": dry_run})
    if config is not None and undo:
        return _rewrite_config(config, {}, [], undo=True, dry_run=dry_run)
    limits = RenderOptions(max_bytes=max_bytes, max_images=max_images, max_tokens=max_tokens)
    limits = replace(limits, max_text=max_text, max_image_pixels=max_image_pixels)
    store = _StoreOptions(_require_session(session), url, project, data_dir, env_file)
    store.check(listen)
    store.check_collect_folder(collect, files)
    if config is not None:
        option_values = {
            **store.resolve_options(),
            "--files": files and files.resolve(),
            "--collect": collect and collect.resolve(),
            "--prefix": prefix or None,
            **_name_limits(limits),
        }
        flags = [] if tools else ["--no-tools"]
        return _rewrite_config(config, option_values, flags, undo=False, dry_run=dry_run)
    server = _read_server(command, upstream, header, transport)
    from pagefault_mcp.proxy.proxy_process import HostOptions
    from pagefault_mcp.service_client.tool_files import ToolFiles

    tool_files = None if files is None else ToolFiles(files)
    # The host gets all content: annotations mark the parts that are for the user only.
    rendering = replace(limits, audience="everyone", handles=True)
    host = HostOptions(rendering, prefix if tools else None, tool_files, collect)
    raise SystemExit(store.run_proxy(server, host, listen))


def _name_limits(limits: RenderOptions) -> dict[str, object]:
    """Return those limits that differ from their defaults, by the names of their options."""
    return {
        f"--{name.replace('_', '-')}": value for name, value in find_changed_options(limits).items()
    }


def _require_session(session: str | None) -> str:
    if session is None:
        raise typer.BadParameter("has to be named, as in --session demo", param_hint="--session")
    return session


def _read_server(
    command: list[str] | None,
    upstream: str | None,
    header: list[str] | None,
    transport: options.Transport,
) -> "ServerTarget":
    """Return the command of a server, or its URL with the options to connect to it.

    Raises:
        typer.BadParameter: There is neither a command nor a URL, or both, or one is invalid.
    """
    from pagefault_mcp.service_client.service_connection import parse_header, parse_url_option
    from pagefault_mcp.upstreams.server_connections import UpstreamOptions

    headers = [parse_header(item) for item in header or ()]
    if command and upstream is None:
        return command
    if upstream is not None and not command:
        parse_url_option(upstream, "--upstream", "https://example.com/mcp")
        return UpstreamOptions(upstream, headers, transport)
    raise typer.BadParameter("name a server: its COMMAND behind `--`, or its --upstream URL")


@dataclass(frozen=True, slots=True)
class _StoreOptions:
    """The options that say where a proxy stores calls and results.

    With `url`, the service at that URL stores them. Without `url`, the service that the proxies of
    a user share stores them in `data_dir`.
    """

    session: str
    url: str | None
    project: str | None
    data_dir: Path | None
    env_file: Path | None

    def check(self, listen: str | None) -> None:
        """Check the options, and that `--url` is not combined with `--listen` or a local store.

        Raises:
            typer.BadParameter: A name or the URL is invalid, the settings file is missing, or
                options cannot be combined.
        """
        from app.cli.error_output import check_project, check_session

        check_session(self.session)
        if self.url is None:
            if self.project is not None:
                check_project(self.project)
            if self.env_file is not None and not self.env_file.is_file():
                raise typer.BadParameter(f"{self.env_file} is no file", param_hint="--env-file")
            return
        from pagefault_mcp.service_client.service_connection import parse_url_option

        parse_url_option(self.url)
        _reject_with_url(
            {
                "--project": self.project,
                "--data-dir": self.data_dir,
                "--env-file": self.env_file,
                "--listen": listen,
            }
        )

    def check_collect_folder(self, collect: Path | None, files: Path | None) -> None:
        """Raise `typer.BadParameter` if the proxy itself writes below the folder of `--collect`.

        The proxy would store its own files as files of tools.
        """
        written_folders = {"--files": files}
        if self.url is None:
            written_folders["--data-dir"] = _choose_data_dir(self.data_dir)
        for name, path in written_folders.items():
            if collect and path and path.resolve().is_relative_to(collect.resolve()):
                raise typer.BadParameter(
                    f"has the folder of {name} in it, {path}: name another one",
                    param_hint="--collect",
                )

    def resolve_options(self) -> dict[str, object]:
        """Return the options by name, with absolute paths; `None` for options without a value.

        A host may start a proxy with these options in any working directory.
        """
        data_dir = self.data_dir
        # A host that is not started in a terminal does not inherit the terminal's variables.
        if data_dir is None and self.url is None and "PAGEFAULT_DATA_DIR" in os.environ:
            data_dir = _choose_data_dir(None)
        return {
            "--session": self.session,
            "--url": self.url,
            "--project": self.project,
            "--data-dir": data_dir and data_dir.resolve(),
            "--env-file": self.env_file and self.env_file.resolve(),
        }

    def run_proxy(self, server: "ServerTarget", host: "HostOptions", listen: str | None) -> int:
        """Run the proxy; return its exit status.

        Without `listen`, the proxy ends when the host disconnects. With `listen`, it serves hosts
        at this `HOST:PORT` until a signal.
        """
        from app.cli.error_output import print_error
        from pagefault_mcp.proxy.proxy_process import (
            make_remote_service,
            make_shared_service,
            parse_base_url,
        )
        from pagefault_mcp.service_client.service_connection import build_headers

        if self.url is not None:
            remote = make_remote_service(
                parse_base_url(self.url), build_headers(), self.session, host, print_error
            )
            return _run_with_traces(remote, server, host)
        from app.version import VERSION
        from pagefault_mcp.service_client.shared_folder import SharedSetup

        data_dir = _choose_data_dir(self.data_dir).resolve()
        env_file = self.env_file and self.env_file.resolve()
        setup = SharedSetup(data_dir, self.project, env_file, VERSION)
        shared = make_shared_service(setup, self.session, host, print_error)
        if listen is None:
            return _run_with_traces(shared, server, host)
        listen_host, port = options.parse_address(listen)
        from app.cli.terminal import read_project_settings
        from pagefault_mcp.http_server.host_listener import ListenOptions, serve_hosts

        environment = dict(os.environ)
        settings, _ = read_project_settings(data_dir, self.env_file, self.project)
        # `read_project_settings` adds variables of the settings file to the environment. The server
        # behind the proxy must not inherit them.
        os.environ.clear()
        os.environ.update(environment)
        listen_options = ListenOptions(listen_host, port, settings)
        return _run_with_traces(shared, server, host, partial(serve_hosts, listen_options))


def _run_with_traces(
    service: "ProxyService",
    server: "ServerTarget",
    host: "HostOptions",
    serve: "ServeHosts | None" = None,
) -> int:
    """Run a proxy, with traces of calls if an exporter is configured; return its exit status.

    Raises:
        typer.Exit: The server cannot be started; the reason has been printed.
    """
    from app.cli.error_output import print_error
    from app.telemetry.signals import exporter_names
    from pagefault_mcp.proxy.proxy_process import run_proxy
    from pagefault_mcp.upstreams.server_connections import CannotStartError

    # A host runs a proxy for each of its servers, so each proxy has to use little memory.
    release_freed_memory()
    exporter: AbstractContextManager[CallTraces | None] = nullcontext()
    if exporter_names("traces"):
        from app.telemetry.call_spans import export_calls

        exporter = export_calls(print_error)
    try:
        with exporter as traces:
            return run_proxy(service, server, host, print_error, serve, traces)
    except CannotStartError as exc:
        raise _print_failure(str(exc)) from exc


def _reject_with_url(options_by_name: dict[str, object]) -> None:
    """Raise `typer.BadParameter` if one of the options is used: the command has `--url`."""
    is_used = {name: value is not None for name, value in options_by_name.items()}
    common.reject_options(is_used, "cannot be combined with --url: leave one of them out")


def _check_config(
    config: Path | None, server_options: dict[str, object], config_options: dict[str, object]
) -> None:
    """Raise `typer.BadParameter` if options for one server and for `--config` are combined.

    Args:
        config: The value of `--config`, which rewrites the servers of a whole file.
        server_options: The options for one server, by name; those with a true value are used.
        config_options: The options that need `--config`, likewise.
    """
    if config is None:
        common.reject_options(config_options, "is for --config")
    else:
        common.reject_options(
            server_options, "cannot be combined with --config: leave one of them out"
        )


def _rewrite_config(
    config: Path, option_values: dict[str, object], flags: list[str], *, undo: bool, dry_run: bool
) -> None:
    """Put the servers in the configuration file of a host behind proxies, or undo that.

    Args:
        config: The configuration file.
        option_values: The options of each proxy, by name; those with `None` are omitted.
        flags: The options of each proxy that have no value.
        undo: Restore the file as it was.
        dry_run: Only print the changes.

    Raises:
        typer.Exit: The file cannot be changed; the reason has been printed.
    """
    from pagefault_mcp.hosts.host_configs import make_proxy_command, rewrite
    from pagefault_mcp.hosts.host_servers import ConfigError

    arguments = [
        word
        for name, value in option_values.items()
        if value is not None
        for word in (name, str(value))
    ]
    try:
        rewrite(config, make_proxy_command([*arguments, *flags]), undo=undo, dry_run=dry_run)
    except ConfigError as exc:
        raise _print_failure(str(exc)) from exc


def _print_failure(reason: str) -> typer.Exit:
    """Print why the command cannot start; return the exception that ends it."""
    from app.cli.error_output import EXIT_CANNOT_START, print_error

    print_error(reason)
    return typer.Exit(EXIT_CANNOT_START)


@commands.command("mcp")
def serve_mcp(
    session: Annotated[
        str | None,
        typer.Option(help="The session that keeps the calls.", show_default="each call names one"),
    ] = None,
    url: options.MemoryServiceUrl = None,
    header: options.MemoryServiceHeader = None,
    project: common.Project = None,
    data_dir: options.DataDir = None,
    env_file: common.EnvFile = None,
) -> None:
    """Offer the memory to a host of MCP: pages, stored media, and the tools for them.

    Name it in the configuration of the host: pagefault mcp --session demo
    """
    if url is not None:
        from app.cli.error_output import check_session, print_error
        from pagefault_mcp.proxy.bridge import run_bridge
        from pagefault_mcp.service_client.service_connection import parse_header

        _reject_with_url({"--project": project, "--data-dir": data_dir, "--env-file": env_file})
        headers = [parse_header(item) for item in header or ()]
        check_session(session)
        if (problem := run_bridge(url, session, headers, print_error)) is not None:
            raise _print_failure(problem)
        return
    if header:
        raise typer.BadParameter("is for a service at --url", param_hint="--header")
    if find_spec("mcp") is None:
        raise _print_failure("the memory's own server needs the SDK: pip install 'pagefault[mcp]'")
    from app.cli.error_output import check_session
    from app.cli.terminal import read_project_settings
    from pagefault_mcp.server.memory_process import run_mcp

    check_session(session)
    settings, project_id = read_project_settings(_choose_data_dir(data_dir), env_file, project)
    run_mcp(settings, project_id, session)


def _choose_data_dir(data_dir: Path | None) -> Path:
    """Return the directory of `--data-dir`, else of PAGEFAULT_DATA_DIR, else `~/.pagefault/data`.

    Other commands default to a folder in the working directory. A host may start its servers in
    any working directory.
    """
    if data_dir is not None:
        return data_dir
    return Path(os.environ.get("PAGEFAULT_DATA_DIR") or Path.home() / ".pagefault" / "data")


@commands.command("serve-proxies", hidden=True)
def serve_proxies(
    folder: Annotated[Path, typer.Option()],
    data_dir: Annotated[Path, typer.Option()],
    env_file: common.EnvFile = None,
    project: common.Project = None,
) -> None:
    """Run the service that all proxies of a user share; a proxy starts it."""
    from app.cli.error_output import EXIT_CANNOT_START
    from pagefault_mcp.server.daemon import detach

    # This process forks before it imports other modules, so that only the child has them in memory.
    report_ready = detach(failed=EXIT_CANNOT_START)
    from pagefault_mcp.server.serve_proxies import serve_proxies

    restore_default_gc()
    serve_proxies(folder, data_dir, env_file, project, report_ready)
