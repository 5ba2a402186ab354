"""The commands `pagefault proxy` and `pagefault mcp`, which hosts of MCP start."""

import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import options as common
from app.server.process import collect_as_usual, release_freed_memory
from pagefault_dialects.model.render_options import RenderOptions, changed_options
from pagefault_mcp.commands import host_options as options

if TYPE_CHECKING:
    from pagefault_mcp.proxy.call_traces import CallTraces
    from pagefault_mcp.proxy.proxy_process import Host, Serve, Server, Service

hosts = typer.Typer()


@hosts.command()
def proxy(  # noqa: PLR0913, PLR0917 - one for each option
    session: options.KeepingSession = None,
    command: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND…]", help="The MCP server, behind `--`."),
    ] = None,
    upstream: options.Upstream = None,
    header: options.Header = None,
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
    tools: options.OwnTools = True,
    prefix: options.Prefix = "",
    files: options.Files = None,
    collect: options.Collect = None,
    url: options.KeepingUrl = None,
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
    memory = _Memory(_require_session(session), url, project, data_dir, env_file)
    memory.check({"--listen": listen})
    memory.check_collected(collect, files)
    if config is not None:
        option_values = {
            **memory.options(),
            "--files": files and files.resolve(),
            "--collect": collect and collect.resolve(),
            "--prefix": prefix or None,
            **_limit_options(limits),
        }
        flags = [] if tools else ["--no-tools"]
        return _rewrite_config(config, option_values, flags, undo=False, dry_run=dry_run)
    server = _read_server(command, upstream, header, transport)
    from pagefault_mcp.proxy.proxy_process import Host
    from pagefault_mcp.service_client.tool_files import ToolFiles

    tool_files = None if files is None else ToolFiles(files)
    # The audience is everyone: annotations tell the host which content is for the user.
    rendering = replace(limits, audience="everyone", handles=True)
    host = Host(rendering, prefix if tools else None, tool_files, collect)
    raise SystemExit(memory.run_proxy(server, host, listen))


def _limit_options(limits: RenderOptions) -> dict[str, object]:
    return {f"--{name.replace('_', '-')}": value for name, value in changed_options(limits).items()}


def _require_session(session: str | None) -> str:
    if session is None:
        raise typer.BadParameter("has to be named, as in --session demo", param_hint="--session")
    return session


def _read_server(
    command: list[str] | None,
    upstream: str | None,
    header: list[str] | None,
    transport: options.Transport,
) -> "Server":
    """Return the server of the options; raise unless they name a command or a URL, not both."""
    if (upstream is None) == (not command):
        raise typer.BadParameter("name a server: its COMMAND behind `--`, or its --upstream URL")
    from pagefault_mcp.service_client.running_service import parse_header
    from pagefault_mcp.upstreams.server_connections import Upstream

    headers = [parse_header(item) for item in header or ()]
    return command or Upstream(_check_upstream(str(upstream)), headers, transport)


@dataclass(frozen=True, slots=True)
class _Memory:
    """The options of the session that keeps results, and of the service that has it."""

    session: str
    url: str | None
    project: str | None
    data_dir: Path | None
    env_file: Path | None

    def check(self, other_options: dict[str, object]) -> None:
        """Raise if a name or URL is invalid, a file is missing, or an option excludes `--url`."""
        from app.cli.error_output import check_project, check_session

        check_session(self.session)
        if self.url is None:
            if self.project is not None:
                check_project(self.project)
            if self.env_file is not None and not self.env_file.is_file():
                raise typer.BadParameter(f"{self.env_file} is no file", param_hint="--env-file")
            return
        from pagefault_mcp.service_client.running_service import service_address

        service_address(self.url)
        stores = {
            "--project": self.project,
            "--data-dir": self.data_dir,
            "--env-file": self.env_file,
        }
        _refuse_beside_url({**stores, **other_options})

    def check_collected(self, folder: Path | None, files: Path | None) -> None:
        """Raise if the proxy itself writes into the folder of `--collect`."""
        written_folders = {"--files": files}
        if self.url is None:
            written_folders["--data-dir"] = _default_data_dir(self.data_dir)
        for name, path in written_folders.items():
            if folder and path and path.resolve().is_relative_to(folder.resolve()):
                raise typer.BadParameter(
                    f"has the folder of {name} in it, {path}: name another one",
                    param_hint="--collect",
                )

    def options(self) -> dict[str, object]:
        """Return the options to start a proxy with the same memory from any folder."""
        data_dir = self.data_dir
        # Hosts that are not started in a terminal do not inherit its variables.
        if data_dir is None and self.url is None and "PAGEFAULT_DATA_DIR" in os.environ:
            data_dir = _default_data_dir(None)
        return {
            "--session": self.session,
            "--url": self.url,
            "--project": self.project,
            "--data-dir": data_dir and data_dir.resolve(),
            "--env-file": self.env_file and self.env_file.resolve(),
        }

    def run_proxy(self, server: "Server", host: "Host", listen: str | None) -> int:
        """Run the proxy until the host disconnects, or at an address until a signal."""
        from app.cli.error_output import print_error
        from pagefault_mcp.proxy.proxy_process import base_address, remote_service, shared_service
        from pagefault_mcp.service_client.running_service import with_key

        if self.url is not None:
            remote = remote_service(
                base_address(self.url), with_key(), self.session, host, print_error
            )
            return _run_proxy(remote, server, host)
        from app.version import VERSION
        from pagefault_mcp.service_client.shared_folder import SharedSetup

        data_dir = _default_data_dir(self.data_dir).resolve()
        env_file = self.env_file and self.env_file.resolve()
        setup = SharedSetup(data_dir, self.project, env_file, VERSION)
        shared = shared_service(setup, self.session, host, print_error)
        if listen is None:
            return _run_proxy(shared, server, host)
        address = options.parse_address(listen)
        from app.cli.terminal import project_settings
        from pagefault_mcp.http_server.host_listener import ListenOptions, serve_hosts

        environment = dict(os.environ)
        settings, _ = project_settings(data_dir, self.env_file, self.project)
        # The server behind the proxy does not inherit variables from a settings file.
        os.environ.clear()
        os.environ.update(environment)
        return _run_proxy(
            shared, server, host, partial(serve_hosts, ListenOptions(*address, settings))
        )


def _run_proxy(
    service: "Service", server: "Server", host: "Host", serve: "Serve | None" = None
) -> int:
    from app.cli.error_output import print_error
    from app.telemetry.signals import exporter_names
    from pagefault_mcp.proxy.proxy_process import run_proxy
    from pagefault_mcp.upstreams.server_connections import CannotStartError

    # A host runs a proxy for each of its servers.
    release_freed_memory()
    exported: AbstractContextManager[CallTraces | None] = nullcontext()
    if exporter_names("traces"):
        from app.telemetry.call_spans import export_calls

        exported = export_calls(print_error)
    try:
        with exported as traces:
            return run_proxy(service, server, host, print_error, serve, traces)
    except CannotStartError as exc:
        raise _failure(str(exc)) from exc


def _check_upstream(url: str) -> str:
    """Return the URL of a server; raise if it is invalid."""
    from pagefault_mcp.service_client.running_service import service_address

    service_address(url, "--upstream", "https://example.com/mcp")
    return url


def _refuse_beside_url(other_options: dict[str, object]) -> None:
    """Raise if options are combined with `--url`, where a service has the stores."""
    used = {name: value is not None for name, value in other_options.items()}
    common.reject_options(used, "cannot be combined with --url: leave one of them out")


def _check_config(
    config: Path | None, server_options: dict[str, object], config_options: dict[str, object]
) -> None:
    """Raise if options for one server are combined with `--config`, or the reverse."""
    if config is None:
        common.reject_options(config_options, "is for --config")
    else:
        common.reject_options(
            server_options, "cannot be combined with --config: leave one of them out"
        )


def _rewrite_config(
    config: Path, option_values: dict[str, object], flags: list[str], *, undo: bool, dry_run: bool
) -> None:
    from pagefault_mcp.hosts.host_configs import find_wrapping, rewrite
    from pagefault_mcp.hosts.host_servers import ConfigError

    arguments = [
        word
        for name, value in option_values.items()
        if value is not None
        for word in (name, str(value))
    ]
    try:
        rewrite(config, find_wrapping([*arguments, *flags]), undo=undo, dry_run=dry_run)
    except ConfigError as exc:
        raise _failure(str(exc)) from exc


def _failure(sentence: str) -> typer.Exit:
    """Print the reason of a failure; return the exit."""
    from app.cli.error_output import EXIT_CANNOT_START, print_error

    print_error(sentence)
    return typer.Exit(EXIT_CANNOT_START)


@hosts.command("mcp")
def serve_mcp(
    session: Annotated[
        str | None,
        typer.Option(help="The session that keeps the calls.", show_default="each call names one"),
    ] = None,
    url: options.ServiceUrl = None,
    header: options.ServiceHeader = None,
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
        from pagefault_mcp.service_client.running_service import parse_header

        _refuse_beside_url({"--project": project, "--data-dir": data_dir, "--env-file": env_file})
        headers = [parse_header(item) for item in header or ()]
        check_session(session)
        if (problem := run_bridge(url, session, headers, print_error)) is not None:
            raise _failure(problem)
        return
    if header:
        raise typer.BadParameter("is for a service at --url", param_hint="--header")
    if find_spec("mcp") is None:
        raise _failure("the memory's own server needs the SDK: pip install 'pagefault[mcp]'")
    from app.cli.error_output import check_session
    from app.cli.terminal import project_settings
    from pagefault_mcp.server.memory_process import run_mcp

    check_session(session)
    settings, project_id = project_settings(_default_data_dir(data_dir), env_file, project)
    run_mcp(settings, project_id, session)


def _default_data_dir(data_dir: Path | None) -> Path:
    """Return the data directory of the option, or else of the environment, or else the user's."""
    if data_dir is not None:
        return data_dir
    # Not the working directory, which is arbitrary for the servers of a host.
    return Path(os.environ.get("PAGEFAULT_DATA_DIR") or Path.home() / ".pagefault" / "data")


@hosts.command("serve-proxies", hidden=True)
def serve_proxies(
    folder: Annotated[Path, typer.Option()],
    data_dir: Annotated[Path, typer.Option()],
    env_file: common.EnvFile = None,
    project: common.Project = None,
) -> None:
    """Store for all proxies of a user; they start it themselves."""
    from app.cli.error_output import EXIT_CANNOT_START
    from pagefault_mcp.server.daemon import detach

    # Before other modules are loaded, since both processes would hold them.
    notify = detach(failed=EXIT_CANNOT_START)
    from pagefault_mcp.server.serve_proxies import serve_proxies

    collect_as_usual()
    serve_proxies(folder, data_dir, env_file, project, notify)
