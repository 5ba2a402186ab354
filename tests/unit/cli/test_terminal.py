"""Texts of others on the terminal."""

import pytest
from rich.markup import render

from app.cli.terminal import escape_for_console


@pytest.mark.parametrize("text", ["[bold]a", r"\[bold red]x", r"\[/b]", r"\\[x]", "a[1]", "[/]"])
def test_text_of_others_is_no_markup(text: str) -> None:
    assert render(escape_for_console(text)).plain == text


def test_text_of_others_is_one_line() -> None:
    assert render(escape_for_console("a\n\x1b[31mb")).plain == "a  [31mb"
