"""The package as it is handed on: built, installed outside of the checkout, and used there.

It is installed without its dependencies, into an environment that sees those of the tests, which
are the locked ones: so nothing is fetched.
"""

import ast
import hashlib
import io
import json
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from app.shipped_files import BUILT_VIEWER, MIGRATIONS
from app.stores.records.migrations import newest_revision
from app.version import VERSION
from tests.kit.process import ROOT, WAIT_SECONDS, PagefaultProcess, environment, run_command

EXAMPLE = ROOT / "examples" / "mcp-result-with-image-and-video.json"
LIBRARY = ROOT / "packages" / "dialects"
MCP = ROOT / "packages" / "mcp"
BUILD_SECONDS = 240.0


def build(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Build both packages with the tools of the lock."""
    arguments = ("-m", "build", "--no-isolation", "--outdir", str(folder), str(source))
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )


@dataclass(frozen=True)
class Packages:
    """The source distribution and the wheel that was made of it."""

    source: Path
    wheel: Path


@dataclass(frozen=True)
class Installed:
    """The wheel in an environment of its own, and a folder that has nothing to do with it."""

    python: Path
    folder: Path

    @property
    def command(self) -> Path:
        return self.python.with_name("pagefault")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the installed command in the folder."""
        return run_command(*arguments, command=self.command, folder=self.folder)

    def says(self, expression: str) -> str:
        """What Python prints for an expression, after `import app`."""
        return subprocess.run(
            [self.python, "-c", f"import app, sys; print({expression})"],
            cwd=self.folder,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=WAIT_SECONDS,
            check=True,
        ).stdout.strip()


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    folder = tmp_path_factory.mktemp("packages")
    done = build(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in folder.iterdir()) == [
        f"pagefault-{VERSION}-py3-none-any.whl",
        f"pagefault-{VERSION}.tar.gz",
    ]
    return Packages(*sorted(folder.iterdir(), reverse=True))


@pytest.fixture(scope="session")
def installed(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("elsewhere")
    python = install_wheel(packages.wheel, root=root)
    (root / "work").mkdir()
    return Installed(python, root / "work")


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python in an environment that has the library's wheel and nothing of the service."""
    folder = tmp_path_factory.mktemp("library")
    done = build(LIBRARY, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return install_wheel(folder / f"pagefault_dialects-{VERSION}-py3-none-any.whl", root=folder)


@pytest.fixture(scope="session")
def without_extra(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an environment that does not have the SDK of MCP."""
    root = tmp_path_factory.mktemp("without-extra")
    python = install_wheel(packages.wheel, root=root, missing={"mcp", "mcp_types"})
    (root / "work").mkdir()
    return Installed(python, root / "work")


@pytest.fixture(scope="session")
def mcp(packages: Packages, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the package of MCP."""
    folder = tmp_path_factory.mktemp("mcp")
    done = build(MCP, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / f"pagefault_mcp-{VERSION}-py3-none-any.whl"


def install_wheel(*wheels: Path, root: Path, missing: Collection[str] = ()) -> Path:
    """Install wheels into an environment of their own; return the Python there.

    It has all packages of this one but those that are `missing`.
    """
    python = root / "venv" / "bin" / "python"
    venv.create(root / "venv", symlinks=True)
    install = ("install", "--no-deps", "--no-index", "--no-input", "--quiet", *map(str, wheels))
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", python, *install],
        env=environment(),
        timeout=WAIT_SECONDS,
        check=True,
    )
    (site_packages,) = (root / "venv" / "lib").glob("python*/site-packages")
    dependencies = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    if missing:
        links = root / "dependencies"
        links.mkdir()
        for entry in {entry for folder in dependencies for entry in Path(folder).iterdir()}:
            if entry.name.partition("-")[0] not in missing:
                (links / entry.name).symlink_to(entry)
        dependencies = {str(links)}
    # A path that is added by such a file has its own files of that kind left unread, so the
    # checkout, which is installed there, stays out.
    (site_packages / "dependencies.pth").write_text("\n".join(sorted(dependencies)))
    return python


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


def contents(root: Path) -> dict[str, bytes]:
    """The files under a folder, by path."""
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_wheel_holds_the_code_the_migrations_and_the_built_viewer(packages: Packages) -> None:
    with zipfile.ZipFile(packages.wheel) as wheel:
        packed = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {f"app/{name}": body for name, body in contents(ROOT / "app").items()}
    for package in ROOT.glob("packages/*/src"):
        expected |= contents(package)
    for name, folder in (("migrations", MIGRATIONS), ("web/dist", BUILT_VIEWER)):
        shipped = contents(folder)
        expected |= {f"app/shipped/{name}/{path}": body for path, body in shipped.items()}
    assert packed.keys() == expected.keys()
    assert [name for name, body in packed.items() if body != expected[name]] == []
    typed = {f"{path.name}/py.typed" for path in ROOT.glob("packages/*/src/*/")}
    assert {"app/py.typed", *typed} <= packed.keys()


def test_source_distribution_needs_no_node_to_become_a_wheel(packages: Packages) -> None:
    with tarfile.open(packages.source) as source:
        packed = {name.partition("/")[2] for name in source.getnames()}
    viewer = {f"web/dist/{name}" for name in contents(BUILT_VIEWER)}
    assert {name for name in packed if name.startswith("web/")} == viewer


def test_dependencies_name_no_tool_that_builds(packages: Packages) -> None:
    with zipfile.ZipFile(packages.wheel) as wheel:
        metadata = wheel.read(f"pagefault-{VERSION}.dist-info/METADATA").decode()
    needed = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:")]
    always = [line.split()[1] for line in needed if "extra ==" not in line]
    assert always
    assert [name for name in always if name in ("build", "hatchling", "setuptools", "wheel")] == []
    # Our own packages are in the wheel, and no registry is asked for them.
    assert "Requires-Dist: mcp>=2.3; extra == 'mcp'" in needed
    assert [line for line in needed if "pagefault" in line] == []


def test_installed_wheel_is_what_runs_outside_of_the_checkout(installed: Installed) -> None:
    assert Path(installed.says("app.__file__")).is_relative_to(installed.python.parents[1])
    assert str(ROOT) not in installed.says("sys.path").split("'")
    said = installed.run("--version")
    assert (said.returncode, said.stdout, said.stderr) == (0, f"pagefault {VERSION}\n", "")


def test_installed_wheel_migrates(installed: Installed, data_dir: Path) -> None:
    done = installed.run("migrate", "--data-dir", str(data_dir))
    assert (done.returncode, done.stdout, done.stderr) == (
        *(0, f"Migrated the database from nothing to revision {newest_revision()}.\n"),
        "",
    )


@pytest.fixture
def served(installed: Installed, data_dir: Path) -> Iterator[PagefaultProcess]:
    done = installed.run("ingest", str(EXAMPLE), "--session", "demo", "--data-dir", str(data_dir))
    assert (done.returncode, done.stderr) == (0, "")
    with PagefaultProcess(data_dir, command=installed.command, folder=installed.folder) as process:
        yield process


def test_installed_wheel_serves_what_it_ingested_and_its_viewer(served: PagefaultProcess) -> None:
    built = contents(BUILT_VIEWER)
    viewer = {name: body for name, body in built.items() if not name.endswith((".br", ".gz"))}
    with served.client() as client:
        assert client.get("/api/version").json() == {"name": "pagefault", "version": VERSION}
        (message,) = client.get("/api/sessions/demo/messages").json()["items"]
        given = json.loads(EXAMPLE.read_bytes())
        assert (message["toolCallId"], message["name"]) == (given["toolCallId"], given["toolName"])
        video = message["sanitized"]["resources"][1]
        content = client.get(f"/api/resources/{video['uri']}/content").content
        bundle = zipfile.ZipFile(io.BytesIO(client.get("/api/sessions/demo/bundle").content))
        assert bundle.testzip() is None
        assert hashlib.sha256(content).hexdigest() == video["digest"].removeprefix("sha-256:")
        pages = {"index.html": "", "docs.html": "docs"}
        answers = {name: client.get(f"/{pages.get(name, name)}") for name in viewer}
    assert {name: answer.status_code for name, answer in answers.items()} == dict.fromkeys(
        viewer, 200
    )
    assert [name for name, answer in answers.items() if answer.content != viewer[name]] == []
    assert {name for name, answer in answers.items() if "content-encoding" in answer.headers} == {
        name for name in viewer if f"{name}.gz" in built
    }


_PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_ACCEPTED = {"Accept": "application/json, text/event-stream"}


def test_installed_wheel_serves_mcp(served: PagefaultProcess) -> None:
    with served.client() as client:
        answer = client.post("/mcp", json=_PING, headers=_ACCEPTED)
    assert (answer.status_code, answer.json()["id"]) == (200, 1)


def test_service_without_the_extra_answers_everything_but_mcp(
    without_extra: Installed, data_dir: Path
) -> None:
    done = without_extra.run(
        "ingest", str(EXAMPLE), "--session", "demo", "--data-dir", str(data_dir)
    )
    assert (done.returncode, done.stderr) == (0, "")
    command, folder = without_extra.command, without_extra.folder
    with (
        PagefaultProcess(data_dir, command=command, folder=folder) as process,
        process.client() as client,
    ):
        assert client.get("/api/sessions/demo/messages").json()["items"]
        assert client.get("/openapi.json").status_code == 200
        answer = client.post("/mcp", json=_PING, headers=_ACCEPTED)
        assert (answer.status_code, answer.json()["code"]) == (404, "no-such-route")
    done = without_extra.run("mcp", "--session", "demo", "--data-dir", str(data_dir))
    said = "pagefault: the memory's own server needs the SDK: pip install 'pagefault[mcp]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


def test_proxy_runs_without_the_extra(without_extra: Installed, data_dir: Path) -> None:
    options = ("--session", "demo", "--data-dir", str(data_dir))
    done = without_extra.run("proxy", *options, "--", "sh", "-c", "exit 3")
    assert (done.returncode, done.stdout) == (3, "")


def test_feature_is_found_once_though_two_distributions_add_it(
    packages: Packages, mcp: Path, tmp_path: Path
) -> None:
    python = install_wheel(packages.wheel, mcp, root=tmp_path)
    names = subprocess.run(
        [python, "-c", "from app.features import find_released_features as f; print([*f()])"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert ast.literal_eval(names.stdout) == ["bundles", "doctor", "mcp"]


def test_no_package_is_made_without_the_viewer(tmp_path: Path) -> None:
    source, folder = tmp_path / "source", tmp_path / "packages"
    folder.mkdir()
    for name in ("app", "migrations", "packages"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "package_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    done = build(source, folder)
    assert done.returncode != 0
    said = "The viewer is not built: there is no web/dist/index.html. Run `make web`"
    assert said in done.stdout + done.stderr
    assert list(folder.iterdir()) == []


def test_features_of_the_packages_are_in_the_installed_wheel(
    installed: Installed, tmp_path: Path
) -> None:
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "words"}]}))
    done = installed.run("doctor", str(file), "--json")
    assert (done.returncode, json.loads(done.stdout)["findings"]) == (0, [])
    found = "sorted(each.name for each in app.features.find_features())"
    names = {path.parent.name for path in ROOT.glob("packages/*/src")} - {"dialects"}
    assert names <= set(ast.literal_eval(installed.says(f"__import__('app.features') and {found}")))


def test_library_is_used_without_the_service(library: Path, tmp_path: Path) -> None:
    program = """
from importlib.util import find_spec
from pagefault_dialects import heal, normalize, read_messages, render
assert find_spec("app") is None
history = [{"role": "user", "content": "words"}]
print(len(normalize({"content": [{"type": "text", "text": "words"}]}).parts))
print(render(read_messages(history).turns, "openai-chat").messages == history)
print(heal(history, "anthropic").messages)
"""
    done = subprocess.run(
        [library, "-c", program],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    said = "[{'role': 'user', 'content': 'words'}]"
    assert done.stdout.splitlines() == ["1", "True", said]
