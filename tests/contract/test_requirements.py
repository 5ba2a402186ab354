"""Both directions: every statement is held by a test, and every marker names a statement."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from pydantic import TypeAdapter, ValidationError

from app.models.tool_result import Part, SanitizedToolResult
from app.wire.history import ToolMessage
from app.wire.tool_results import ToolResultRecord
from tests.kit.process import ROOT
from tests.requirements import REQUIREMENTS

_REQUIRED = {name: entry for name, entry in REQUIREMENTS.items() if entry.planned is None}


@cache
def functions_of(path: Path) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    """The tests of a file, found without importing it."""
    return tuple(
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )


def marked(marker: str) -> list[Path]:
    """Return the files of tests that have a marker in them; to parse the others takes seconds."""
    folders = ("tests", "packages", "clients/python/tests")
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("**/test_*.py"))]
    return [path for path in paths if f"mark.{marker}(" in path.read_text()]


def markers() -> Iterator[tuple[str, str]]:
    """Every test that carries an id, and the id."""
    for path in marked("requirement"):
        for function in functions_of(path):
            for decorator in function.decorator_list:
                match decorator:
                    case ast.Call(func=ast.Attribute(attr="requirement"), args=[argument]):
                        yield f"{path.relative_to(ROOT)}::{function.name}", _literal(argument)


def _literal(argument: ast.expr) -> str:
    assert isinstance(argument, ast.Constant), "an id is written out, so that it can be found"
    return str(argument.value)


def missing(node: str) -> bool:
    """Return whether there is no test of this name, `path::name`."""
    path, _, name = node.partition("::")
    file = ROOT / path
    return not file.exists() or name not in {function.name for function in functions_of(file)}


def test_every_statement_is_held_by_a_test() -> None:
    marked = {identity for _, identity in markers()}
    assert [
        name for name, entry in _REQUIRED.items() if name not in marked and not entry.covered_by
    ] == []


def test_every_marker_names_a_statement_that_is_not_planned() -> None:
    assert [(test, identity) for test, identity in markers() if identity not in _REQUIRED] == []


def test_tests_that_statements_name_exist() -> None:
    named = [(name, node) for name, entry in REQUIREMENTS.items() for node in entry.covered_by]
    assert [(name, node) for name, node in named if missing(node)] == []


def test_what_is_planned_is_not_held_yet() -> None:
    held = [name for name, entry in REQUIREMENTS.items() if entry.planned and entry.covered_by]
    assert held == []


def test_every_statement_has_a_name_a_source_and_words_of_its_own() -> None:
    known = r"(000|001|002|design)(-[a-z0-9]+)+"
    names = [name for name in REQUIREMENTS if not re.fullmatch(known, name)]
    statements = [(entry.source, entry.statement) for entry in REQUIREMENTS.values()]
    assert (names, len(set(statements))) == ([], len(REQUIREMENTS))
    sources = {entry.source.partition(",")[0] for entry in REQUIREMENTS.values()}
    assert sources == {"000", "001", "002", "design"}


@pytest.mark.requirement("002-no-audio-or-video-parts")
def test_there_are_three_kinds_of_parts() -> None:
    with pytest.raises(ValidationError) as refused:
        TypeAdapter[object](Part).validate_python({"type": "audio"})
    (error,) = refused.value.errors()
    assert error["ctx"]["expected_tags"] == "'text', 'image', 'file'"


@pytest.mark.requirement("002-packaging")
@pytest.mark.requirement("002-single-source-of-truth")
def test_every_reader_is_told_of_the_same_canonical_shape() -> None:
    assert set(SanitizedToolResult.model_fields) == {"parts", "resources", "meta"}
    for shape in (ToolResultRecord, ToolMessage):
        described = TypeAdapter[object](shape).json_schema()["properties"]["sanitized"]
        assert described == {"$ref": "#/$defs/SanitizedToolResult"}


@pytest.mark.requirement("002-separate-stages")
@pytest.mark.parametrize("stage", ["normalization", "persistence", "packaging"])
def test_a_stage_is_a_package_that_knows_no_other_stage(stage: str) -> None:
    others = {"normalization", "persistence", "packaging"} - {stage}
    imported = {
        name
        for path in (ROOT / "app" / "services" / stage).glob("*.py")
        for name in re.findall(r"^(?:from|import) app\.services\.(\w+)", path.read_text(), re.M)
    }
    assert imported & others == set()


def test_requirement_markers_are_found_in_this_file() -> None:
    own = {identity for test, identity in markers() if "test_requirements.py" in test}
    assert own == {
        "002-no-audio-or-video-parts",
        "002-packaging",
        "002-single-source-of-truth",
        "002-separate-stages",
    }
