"""The generators, and for each how a client is made, checked and run.

A client stands in a folder of its own, with the program of `round_trips/` that calls it. What npm
and pip have installed for them is in `node_modules` here and in `.venv/clients-check`.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.kit.node import NODE
from tests.kit.process import ROOT, environment

HERE = Path(__file__).parent
OPENAPI = ROOT / "openapi"
DOCUMENT = OPENAPI / "openapi.json"
_PYTHON = ROOT / ".venv" / "clients-check" / "bin"
_NODE_MODULES = HERE / "node_modules"
_LONGEST_SECONDS = 500

Command = Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Generator:
    """How a client is made, and how it is checked and run in its folder.

    Attributes:
        name: Of the generator, and the language where it has several.
        files: The program, and what it imports beside the client.
        generate: Makes the client.
        check: Commands that compile it, as strictly as there is.
        run: Runs the program.
        variables: What these commands find in their environment.
    """

    name: str
    files: tuple[str, ...]
    generate: Command
    check: tuple[Command, ...]
    run: Command
    variables: Mapping[str, str]


def called(command: Command, folder: Path, variables: Mapping[str, str]) -> str:
    """Run a command in a folder, and return what it printed; its errors are raised with it."""
    path = os.pathsep.join(map(str, (_PYTHON, NODE.parent, os.environ["PATH"])))
    done = subprocess.run(  # noqa: S603 - tools of our own environments, and Debian's
        command,
        cwd=folder,
        env=environment({"PATH": path, **variables}),
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if done.returncode:
        said = f"{' '.join(map(str, command))}\n{done.stdout[-4_000:]}\n{done.stderr[-4_000:]}"
        raise AssertionError(said)
    return done.stdout


def node_tool(name: str) -> tuple[Path, Path]:
    """Return the command of a tool that npm has installed."""
    return NODE, _NODE_MODULES / ".bin" / name


def prepared(generator: Generator, folder: Path) -> None:
    """Put the program into the folder of its client, with the packages that it imports."""
    for name in generator.files:
        shutil.copy(HERE / name, folder / Path(name).name)
    if "tsconfig.json" in generator.files:
        (folder / "node_modules").symlink_to(_NODE_MODULES)


def _python(name: str, generate: Command, *types: str) -> Generator:
    program = f"{name}.py"
    return Generator(
        name=name,
        files=(f"round_trips/{program}",),
        generate=generate,
        check=(
            (_PYTHON / "python", "-m", "compileall", "-q", "."),
            # The client's own code is not as strict; what it is called with, and returns, is.
            (_PYTHON / "mypy", "--strict", "--follow-imports=silent", *types, program),
        ),
        run=(_PYTHON / "python", program),
        variables={},
    )


def _typescript(name: str, generate: Command, **variables: str) -> Generator:
    bundle = ("--bundle", "--platform=node", "--format=esm", "--log-level=warning")
    return Generator(
        name=name,
        files=(f"round_trips/{name}.ts", "round_trips/shared.ts", "tsconfig.json"),
        generate=generate,
        check=(
            (*node_tool("tsc"), "--project", "."),
            (_NODE_MODULES / ".bin" / "esbuild", f"{name}.ts", *bundle, "--outfile=bundle.mjs"),
        ),
        run=(NODE, "bundle.mjs"),
        variables=variables,
    )


def _openapi_generator(language: str, output: str, config: str) -> Command:
    left_out = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
    command = (_PYTHON / "openapi-generator-cli", "generate", "-i", DOCUMENT, "-g", language)
    return (*command, "-o", output, "--config", OPENAPI / config, "--global-property", left_out)


UNIONS = {
    "rust": (_openapi_generator("rust", ".", "openapi-generator.yml"), "src/models/*.rs"),
    "kotlin": (
        _openapi_generator("kotlin", ".", "openapi-generator-kotlin.yml"),
        "src/main/kotlin/**/models/*.kt",
    ),
}
"""Languages whose clients are made and not compiled: the command, and where the types are."""

GENERATORS = (
    _python(
        "openapi_python_client",
        (
            *(_PYTHON / "openapi-python-client", "generate", "--path", DOCUMENT, "--meta", "none"),
            *("--config", OPENAPI / "openapi-python-client.yml"),
            *("--output-path", "generated_client", "--fail-on-warning"),
        ),
    ),
    _python(
        "openapi_generator",
        _openapi_generator("python", ".", "openapi-generator.yml"),
        *("--implicit-reexport", "--allow-untyped-calls"),
    ),
    Generator(
        name="openapi_generator_go",
        files=("round_trips/main.go", "round_trips/go.mod"),
        generate=_openapi_generator("go", "pagefault", "openapi-generator-go.yml"),
        check=(("go", "vet", "./..."),),
        run=("go", "run", "."),
        variables={
            # The standard library is all there is.
            "GOPROXY": "off",
            "GOFLAGS": "-mod=mod",
            "GOCACHE": str(ROOT / ".venv" / "go-cache"),
            "GOPATH": str(ROOT / ".venv" / "go"),
        },
    ),
    _typescript(
        "hey_api",
        (
            *(*node_tool("openapi-ts"), "--input", DOCUMENT, "--output", "generated"),
            *("--plugins", "@hey-api/client-fetch", "@hey-api/typescript", "@hey-api/sdk"),
        ),
    ),
    _typescript(
        "openapi_fetch",
        (
            *(*node_tool("openapi-typescript"), DOCUMENT, "--output", "generated/schema.d.ts"),
            # A member with a default may be left out.
            *("--default-non-nullable", "false"),
        ),
    ),
    _typescript(
        "orval",
        (*node_tool("orval"), "--config", HERE / "orval.config.mjs"),
        DOCUMENT=str(DOCUMENT),
    ),
)
