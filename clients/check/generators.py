"""The generators, with the commands that generate, check and run their clients.

Each client is generated into a temporary folder, with a program of `round_trips/` that calls it.
The tools are in `clients/check/node_modules` (npm) and `.venv/clients-check` (pip).
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
    """A generator, with the commands for its client, which run in the folder of the client.

    Attributes:
        name: The name of the generator, with the language if it has several.
        files: The program, and its further imports.
        generate: The command that generates the client.
        check: The commands that compile it with the strictest checks.
        run: The command that runs the program.
        variables: Environment variables of these commands.
    """

    name: str
    files: tuple[str, ...]
    generate: Command
    check: tuple[Command, ...]
    run: Command
    variables: Mapping[str, str]


def run_command(command: Command, folder: Path, variables: Mapping[str, str]) -> str:
    """Run a command in a folder, and return its output.

    Raises:
        AssertionError: The command failed; the message has its output.
    """
    path = os.pathsep.join(map(str, (_PYTHON, NODE.parent, os.environ["PATH"])))
    process = subprocess.run(  # noqa: S603 - tools of our own environments, and Debian's
        command,
        cwd=folder,
        env=environment({"PATH": path, **variables}),
        capture_output=True,
        text=True,
        timeout=_LONGEST_SECONDS,
        check=False,
    )
    if process.returncode:
        output = f"{process.stdout[-4_000:]}\n{process.stderr[-4_000:]}"
        raise AssertionError(f"{' '.join(map(str, command))}\n{output}")
    return process.stdout


def node_tool(name: str) -> tuple[Path, Path]:
    """Return the command of a tool that npm has installed."""
    return NODE, _NODE_MODULES / ".bin" / name


def prepare_folder(generator: Generator, folder: Path) -> None:
    """Copy the program into the folder of its client, and link the packages that it imports."""
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
            # Only the program is checked strictly, with the types of the client.
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
    no_extra_files = "apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
    command = (_PYTHON / "openapi-generator-cli", "generate", "-i", DOCUMENT, "-g", language)
    return (
        *command,
        "-o",
        output,
        "--config",
        OPENAPI / config,
        "--global-property",
        no_extra_files,
    )


UNIONS = {
    "rust": (_openapi_generator("rust", ".", "openapi-generator.yml"), "src/models/*.rs"),
    "kotlin": (
        _openapi_generator("kotlin", ".", "openapi-generator-kotlin.yml"),
        "src/main/kotlin/**/models/*.kt",
    ),
}
"""Languages whose clients are generated but not compiled: the command, and the files of types."""

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
            # The client only needs the standard library.
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
            # Members with a default are optional.
            *("--default-non-nullable", "false"),
        ),
    ),
    _typescript(
        "orval",
        (*node_tool("orval"), "--config", HERE / "orval.config.mjs"),
        DOCUMENT=str(DOCUMENT),
    ),
)
