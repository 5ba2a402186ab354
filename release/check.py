"""Check a release: build what is handed on, install it, and list what it is made of.

    python -m release.check [--into build/release]

    build/release/
      pagefault-….whl, pagefault-….tar.gz    and the packages of the clients
      image-context.txt                      the files that `docker build` is given
      sbom.json, sbom-viewer.json            CycloneDX: what the service and the viewer depend on
      licenses.md                            each dependency with its version and license
      server.json, pagefault-….mcpb          for the MCP registry, and for hosts that take bundles
      SHA256SUMS

Nothing is published. The first check that fails ends the run with status 1 and says what to do.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from app.version import VERSION
from release.commands import CleanUser, CommandError, check_commands
from release.image_context import image_context
from release.licenses import license_table
from release.mcp_listing import (
    NAME,
    bundle_command,
    listed_command,
    server_json,
    write_bundle_folder,
)
from release.versions import disagreeing_versions

ROOT: Final = Path(__file__).parent.parent
RUNTIME_LOCK: Final = ROOT / "requirements" / "runtime.lock"


# Loads the names of a feature from the folder of its package, not from the service's wheel.
_USE_OF_FEATURE: Final = """
import sys
from importlib import import_module
from pkgutil import resolve_name
folder, package = sys.argv[1:]
sys.path.insert(0, folder)
module = import_module(f"{package}.feature")
assert module.__file__.startswith(folder)
feature = module.FEATURE
for names in (feature.routers, feature.services, feature.middleware, feature.commands.values()):
    assert all(resolve_name(name) is not None for name in names)
"""
_USE_OF_LIBRARY: Final = """
from pagefault_dialects import heal, normalize
assert normalize({"content": [{"type": "text", "text": "words"}]}).parts
assert heal([{"role": "user", "content": "words"}], "anthropic").messages
"""
_USE_OF_PROXY: Final = """
from pagefault_mcp.hosts.host_configs import ProxyCommand
from pagefault_mcp.proxy import proxy_process
before = b'{"mcpServers": {"time": {"command": "uvx"}}}'
assert b'"pagefault", "args": ["proxy", "--", "uvx"]' in ProxyCommand("pagefault", ()).wrap(before)
"""


_TOOLS: Final = """
import json
from pagefault_dialects.tools.tool_catalogue import list_definitions
tools = list_definitions()
print(json.dumps([{"name": tool.name, "description": tool.description} for tool in tools]))
"""


class ReleaseError(Exception):
    """A check that failed, in a sentence that says what to do."""


def main() -> None:
    """Run all checks, and print a line for each."""
    parser = argparse.ArgumentParser(
        prog="python -m release.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "release")
    into: Path = parser.parse_args().into.resolve()
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    checks: tuple[tuple[str, Callable[[Path], str]], ...] = (
        ("versions", check_versions),
        ("packages", build_packages),
        ("installed", check_installed),
        ("listing", write_server_json),
        ("bundle", build_bundle),
        ("commands", start_commands),
        ("image", check_image_context),
        ("SBOM", write_sboms),
        ("licenses", check_licenses),
        ("digests", write_digests),
    )
    for name, check in checks:
        try:
            said = check(into)
        except (ReleaseError, CommandError) as error:
            sys.exit(f"{name}: {error}")
        sys.stdout.write(f"{name:10} {said}\n")
        sys.stdout.flush()


def check_versions(_: Path) -> str:
    """Compare the version with every other place that names it."""
    wrong = disagreeing_versions(ROOT, VERSION)
    if wrong:
        raise ReleaseError(f"app/version.py says {VERSION}; set it too in {', '.join(wrong)}")
    return f"{VERSION} everywhere"


def build_packages(into: Path) -> str:
    """Build source distribution and wheel of the service, of its libraries, and of the clients."""
    manifests = (*ROOT.glob("packages/*/pyproject.toml"), *ROOT.glob("clients/*/pyproject.toml"))
    sources = [ROOT, *(path.parent for path in manifests)]
    for source in sources:
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(into), str(source))
    packages = sorted(ROOT.glob("clients/typescript/*/package.json"))
    for script in ("generate", "build") if packages else ():
        run("npm", "run", "--silent", script, cwd=ROOT / "clients" / "typescript")
    for manifest in packages:
        run("npm", "pack", "--silent", "--pack-destination", str(into), cwd=manifest.parent)
    return ", ".join(sorted(path.name for path in into.iterdir()))


def check_installed(into: Path) -> str:
    """Install the wheels with the locked dependencies in an environment of their own; run all.

    The library and the proxy come first and go again, since the service's wheel carries them. That
    has the features too, so each of their wheels is installed into a folder beside it.
    """
    folder = environment_of(into)
    venv.create(folder, clear=True, with_pip=True)
    python = str(folder / "bin" / "python")
    install = (python, "-m", "pip", "install", "--quiet", "--no-input", "--no-deps")
    locked = ("--require-hashes", "-r", str(RUNTIME_LOCK))
    wheels = str(wheels_of(into))
    run(python, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", wheels, *locked)
    run(*install, "--no-index", "--find-links", wheels, *locked)
    parts = {"pagefault-dialects": _USE_OF_LIBRARY, "pagefault-mcp": _USE_OF_PROXY}
    for name, use in parts.items():
        run(*install, "--disable-pip-version-check", str(wheel_of(into, name)))
        run(python, "-c", use, cwd=into)
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", *parts)
    run(*install, "--disable-pip-version-check", str(wheel_of(into)))
    features = into / ".features"
    for name in feature_names():
        target, wheel = str(features / name), str(wheel_of(into, name))
        run(*install, "--disable-pip-version-check", "--target", target, wheel)
        run(python, "-c", _USE_OF_FEATURE, target, name.replace("-", "_"), cwd=into)
    shutil.rmtree(features)
    run(python, "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    data = into / ".data"
    run(str(folder / "bin" / "pagefault"), "migrate", "--data-dir", str(data), cwd=into)
    shutil.rmtree(data)
    run(str(folder / "bin" / "pagefault"), "mcp", "--help", cwd=into)
    said = run(str(folder / "bin" / "pagefault"), "--version", cwd=into).strip()
    if VERSION not in said:
        raise ReleaseError(f"the installed command says {said!r} instead of {VERSION}")
    return f"`{said}`, and a new data directory"


def write_server_json(into: Path) -> str:
    """Write the entry of the MCP registry; end if it does not keep its schema."""
    file = into / "server.json"
    file.write_text(f"{json.dumps(server_json(ROOT, VERSION), indent=2)}\n")
    run("check-jsonschema", "--schemafile", str(ROOT / "release/server.schema.json"), str(file))
    if f"mcp-name: {NAME}" not in (ROOT / "README.md").read_text():
        raise ReleaseError(f"README.md has to have `mcp-name: {NAME}`, which the registry reads")
    return f"server.json of {NAME}"


def build_bundle(into: Path) -> str:
    """Pack the memory server as a bundle, and start it from there as a host does."""
    folder, unpacked = into / ".bundle", into / ".unpacked"
    bundle = into / f"pagefault-{VERSION}.mcpb"
    python = str(environment_of(into) / "bin" / "python")
    tools = json.loads(run(python, "-c", _TOOLS))
    write_bundle_folder(folder, ROOT, wheel_of(into), tools, VERSION)
    mcpb = str(ROOT / "release" / "node_modules" / ".bin" / "mcpb")
    run(mcpb, "validate", str(folder / "manifest.json"))
    run(mcpb, "pack", str(folder), str(bundle))
    run(mcpb, "unpack", str(bundle), str(unpacked))
    with clean_user(into) as user:
        name = user.server_name(*bundle_command(unpacked, user.home, scripts()))
    for made in (folder, unpacked):
        shutil.rmtree(made)
    return f"{bundle.name}, {bundle.stat().st_size / 1e6:.1f} MB, started as {name}"


def start_commands(into: Path) -> str:
    """Start the service, the memory server and the proxy with one command each."""
    with clean_user(into) as user:
        listed = listed_command(json.loads((into / "server.json").read_text()), "demo")
        said = check_commands(user, scripts(), listed)
    shutil.rmtree(wheels_of(into))
    return ", ".join(f"`{command}` ({answer})" for command, answer in said.items())


def check_image_context(into: Path) -> str:
    """List what a container's build is given; end if something it copies is missing or too much."""
    files, problems = image_context(ROOT)
    if problems:
        raise ReleaseError("; ".join(problems))
    (into / "image-context.txt").write_text("".join(f"{name}\n" for name in files))
    size = sum((ROOT / name).stat().st_size for name in files)
    return f"{len(files)} files, {size / 1e6:.1f} MB"


def write_sboms(into: Path) -> str:
    """Write the CycloneDX documents of the service and of the viewer."""
    service, viewer = into / "sbom.json", into / "sbom-viewer.json"
    command = (sys.executable, "-m", "cyclonedx_py", "environment", "--gather-license-texts")
    run(*command[:-1], "--output-reproducible", "-o", str(service), str(environment_of(into)))
    arguments = ("sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only")
    viewer.write_text(run("npm", *arguments, cwd=ROOT / "web"))
    return f"{len(components(service))} packages of Python, {len(components(viewer))} of npm"


def check_licenses(into: Path) -> str:
    """Write the list of licenses; end if one is not in `release/licenses.toml`."""
    listed = [*components(into / "sbom.json"), *components(into / "sbom-viewer.json")]
    table, refused = license_table(listed, ROOT / "release" / "licenses.toml")
    if refused:
        raise ReleaseError(f"read the license of {', '.join(refused)}; see release/licenses.toml")
    (into / "licenses.md").write_text(table)
    return f"{len(listed)} dependencies, all with a license that release/licenses.toml allows"


def write_digests(into: Path) -> str:
    """Write `SHA256SUMS` of everything that is handed on."""
    shutil.rmtree(environment_of(into))
    files = sorted(path for path in into.iterdir() if path.is_file())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (into / "SHA256SUMS").write_text("".join(sums))
    return f"{len(files)} files in {into}"


def components(sbom: Path) -> list[dict[str, object]]:
    """Return the packages of a CycloneDX document, but for our own."""
    found = json.loads(sbom.read_text())["components"]
    return [field for field in found if field["name"] not in {"pagefault", "pagefault-viewer"}]


def environment_of(into: Path) -> Path:
    """Return the folder of the environment that the wheel is tried in."""
    return into / ".environment"


def wheels_of(into: Path) -> Path:
    """Return the folder of the wheels of all locked dependencies."""
    return into / ".wheels"


@contextmanager
def clean_user(into: Path) -> Iterator[CleanUser]:
    """Yield a user who has the wheels of the release and of its dependencies."""
    with tempfile.TemporaryDirectory() as home:
        yield CleanUser(Path(home), (into, wheels_of(into)))


def scripts() -> Path:
    """Return the folder of the programs of this environment, such as `uv`."""
    return Path(sys.executable).parent


def wheel_of(into: Path, name: str = "pagefault") -> Path:
    """Return the wheel of the service, or of another distribution."""
    return into / f"{name.replace('-', '_')}-{VERSION}-py3-none-any.whl"


def feature_names() -> list[str]:
    """Return the names of the distributions above the service."""
    return sorted(
        f"pagefault-{path.parent.name}"
        for path in ROOT.glob("packages/*/pyproject.toml")
        if path.parent.name != "dialects"
    )


def run(*command: str, cwd: Path = ROOT) -> str:
    """Run a command and return what it printed.

    Raises:
        ReleaseError: It failed; the error has its last lines.
    """
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stdout + done.stderr).strip()[-2_000:]
        raise ReleaseError(f"`{' '.join(command)}` failed:\n{said}")
    return done.stdout


if __name__ == "__main__":
    main()
