"""The check that no sentence stands in a component of the viewer."""

import subprocess
from pathlib import Path

import pytest

from app.shipped_files import BUILT_VIEWER
from tests.kit.node import NODE

CHECK = BUILT_VIEWER.parent / "words.mjs"


def check(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Look into a folder in which a component is written so."""
    (folder / "View.tsx").write_text(source)
    return subprocess.run(  # noqa: S603 - a tool of our own
        [NODE, CHECK, folder], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("const a = <p>Nothing here</p>;", "Nothing here"),
        ("const a = <p title='Nothing here' />;", "Nothing here"),
        ("const a = <p>{isOpen ? 'fold' : 'unfold'}</p>;", "unfold"),
        ("const a = <p>{isCopied && 'copied'}</p>;", "copied"),
        ("const a = <p>{`${count} left`}</p>;", "left"),
        ("const a = <p aria-label={`Entry ${seq}`} />;", "Entry"),
        ("const a = <Fact name='Type'>{type}</Fact>;", "Type"),
        ("const a = <List labels={<b>Failed</b>} />;", "Failed"),
        ("const text = isMore ? `The first ${count}` : '';", "The first"),
        ("const told = { is: 'not yet there' };", "not yet there"),
        ('const given = { "aria-label": `of ${name}` };', "of"),
    ],
)
def test_sentence_in_a_component_is_found(tmp_path: Path, source: str, text: str) -> None:
    found = check(tmp_path, source)
    assert found.returncode == 1
    assert f"View.tsx:1: {text}" in found.stderr


@pytest.mark.parametrize(
    "source",
    [
        "const a = <p className={isOpen ? 'row small' : 'row'}>{SAID.title}</p>;",
        "const a = <input type='search' name='level' autoComplete='off' />;",
        "if (event.key === 'Escape') box.querySelector('[data-seq] .row')?.focus();",
        "throw new Error('There is no provider around this component');",
        "const query = { queryKey: ['sessions', 'open', id], kind: 'tool_result' };",
        "const a = <a href={`/pages/${id}`}>#{seq}</a>;",
        "const modality: 'no text' | 'image' = read();",
    ],
)
def test_what_is_no_sentence_is_left_alone(tmp_path: Path, source: str) -> None:
    found = check(tmp_path, source)
    assert found.returncode == 0, found.stderr
