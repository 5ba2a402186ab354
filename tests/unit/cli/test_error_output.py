"""Standard error of commands, with texts of any origin."""

import io
import sys

import pytest

from app.cli.error_output import print_error


class Terminal(io.StringIO):
    """A terminal, as far as it is asked whether it is one."""

    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    """A pipe that nobody reads."""

    def write(self, _: str) -> int:
        raise BrokenPipeError


def test_complaint_is_one_plain_line_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("a sentence " * 40)
    assert capsys.readouterr().err == "pagefault: " + "a sentence " * 40 + "\n"


def test_complaint_cannot_command_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("a call of \x1b[2J\r\x07\u202e\ud800[red]ä\nis not stored")
    err = capsys.readouterr().err
    assert err == "pagefault: a call of  [2J    [red]ä\nis not stored\n"


@pytest.mark.parametrize(
    ("variables", "is_red"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
    ids=str,
)
def test_complaint_is_red_on_a_terminal_that_takes_colours(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], is_red: bool
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    for name, value in {"TERM": "xterm", "NO_COLOR": "", **variables}.items():
        monkeypatch.setenv(name, value)
    print_error("no")
    assert terminal.getvalue() == (
        "\x1b[31mpagefault: no\x1b[0m\n" if is_red else "pagefault: no\n"
    )


def test_complaint_that_nobody_reads_is_no_reason_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Closed())
    print_error("no")
