"""The lines that requests leave in the log: as all others, in their place, and none is lost."""

import json
import subprocess
import sys

import pytest

_TELLING = """
import asyncio
import structlog
from app.telemetry.logs import configure_logging, flush_logs, log_request

configure_logging({log_format!r}, {level!r})

def tell(request_id):
    log_request(request_id, "GET", route='/a/{{b}}"', status=200, milliseconds=0.5)

async def main():
    {body}

asyncio.run(main())
flush_logs()
"""


def told(body: str, *, log_format: str = "json", level: str = "info") -> list[str]:
    """The lines that a process leaves which runs this in an event loop."""
    script = _TELLING.format(body=body, log_format=log_format, level=level)
    done = subprocess.run(  # noqa: S603 - our own interpreter and text
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return done.stderr.splitlines()


def test_line_of_a_request_is_the_one_the_processors_make() -> None:
    fields = """request_id="i", method="GET", route='/a/{b}"', status=200, milliseconds=0.5"""
    lines = told(f'tell("i"); structlog.get_logger("pagefault.requests").info("request", {fields})')
    quick, slow = (json.loads(line, object_pairs_hook=list) for line in lines)
    assert [member for member in quick if member[0] != "timestamp"] == [
        member for member in slow if member[0] != "timestamp"
    ]
    assert [len(dict(item)["timestamp"]) for item in (quick, slow)] == [27, 27]
    assert quick[-1] < slow[-1]


def test_line_that_is_put_off_stands_before_one_that_came_later() -> None:
    body = 'tell("a"); tell("b"); structlog.get_logger("x").info("later"); tell("c")'
    entries = [json.loads(line) for line in told(body)]
    assert [entry.get("request_id", entry["event"]) for entry in entries] == [
        "a",
        "b",
        "later",
        "c",
    ]


def test_very_many_lines_are_all_written() -> None:
    lines = told("[tell(str(number)) for number in range(2_500)]")
    assert [json.loads(line)["request_id"] for line in lines] == [str(n) for n in range(2_500)]


@pytest.mark.slow
@pytest.mark.parametrize(("level", "lines"), [("info", 1), ("warning", 0)])
def test_console_and_level_count_for_requests_too(level: str, lines: int) -> None:
    assert len(told('tell("i")', log_format="console", level=level)) == lines
    assert len(told('tell("i")', level=level)) == lines
