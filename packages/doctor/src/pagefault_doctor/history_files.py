"""`pagefault doctor`: what is wrong with a history in a file, and the history healed.

Source: `context`, "Healing".
"""

import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast, get_args

import anyio
import typer
from rich.markup import escape
from rich.table import Table

from app.cli.complaints import CANNOT, complain
from app.cli.terminal import ERR, OUT, CommandError, expected_sentence, one_line, say
from app.config.settings import Settings
from app.features import FEATURES, open_services
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import JsonValue, repaired
from pagefault_dialects.messages.histories import (
    SYSTEM_NAMES,
    Dialect,
    list_name,
    sent_messages,
)
from pagefault_dialects.targets.table import TARGETS
from pagefault_doctor.doctor import Doctor, DoctorQuery
from pagefault_doctor.feature import FEATURE

_CHUNK_BYTES = 1 << 20
_SYSTEM_OF = {"gemini": "systemInstruction", "openai-responses": "instructions"}
_SYSTEM_AS: Mapping[str, Callable[[str], Any]] = {
    "gemini": lambda text: {"parts": [{"text": text}]},
    "bedrock": lambda text: [{"text": text}],
}
_MESSAGES_OF = {"gemini": "contents", "openai-responses": "input"}
# These change what the system says.
_OF_SYSTEM = ("system-among-messages", "half-surrogate", "repeated-key", "base64-in-text")


class HistoryFileError(CommandError):
    """The file cannot be read, or holds no history; the message says why."""


def examine_file(
    file: Path,
    *,
    target: str | None,
    dialect: str | None,
    max_tokens: int | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Print what is wrong with the history in a file, and write the healed one if asked.

    Ends with the status 1 if something is wrong and nothing healed is written, and with 2 if there
    is no history to be read.

    Raises:
        HistoryFileError: The healed history cannot be written.
    """
    query = DoctorQuery(
        _one_of("--target", target, tuple(TARGETS)),
        cast("Dialect | None", _one_of("--dialect", dialect, get_args(Dialect))),
        max_tokens,
        applies=output is not None,
    )
    try:
        content = _read(file)
        diagnosis = anyio.run(_examine, content, query)
    except (HistoryFileError, PagefaultError) as exc:
        # A status of its own: 1 says that something is wrong with the history.
        sentence = expected_sentence(exc) or str(exc)
        complain(sentence.replace("The body", str(file)))
        raise typer.Exit(CANNOT) from exc
    shown = ERR if output is not None and str(output) == "-" else OUT
    if as_json and shown is OUT:
        findings = {name: each for name, each in diagnosis.items() if name != "messages"}
        typer.echo(json.dumps(findings, ensure_ascii=False, indent=2))
    else:
        _show(diagnosis)
    if output is not None:
        _write(output, healed_body(repaired(json.loads(content)), diagnosis))
    elif diagnosis["findings"]:
        raise typer.Exit(1)


def _one_of(option: str, value: str | None, known: tuple[str, ...]) -> str | None:
    if value is not None and value not in known:
        raise typer.BadParameter(f"must be one of {', '.join(known)}", param_hint=option)
    return value


def _read(file: Path) -> bytes:
    """Return the JSON of a file; of JSON lines, that of a list."""
    try:
        content = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except OSError as exc:
        raise HistoryFileError(f"{file} cannot be read: {exc.strerror}.") from exc
    lines = [line for line in content.splitlines() if line.strip()]
    if len(lines) > 1:
        with suppress(ValueError):
            for line in lines:
                json.loads(line)
            return b"[" + b",".join(lines) + b"]"
    return content


async def _examine(content: bytes, query: DoctorQuery) -> dict[str, Any]:
    async def body() -> AsyncIterator[bytes]:
        for start in range(0, len(content), _CHUNK_BYTES):
            yield content[start : start + _CHUNK_BYTES]

    # Smaller images are kept while they are needed, and gone with the folder.
    with tempfile.TemporaryDirectory(prefix="pagefault-doctor-") as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_services(settings, (*FEATURES, FEATURE)) as services:
            answer = await services[Doctor].examine("default", body(), query)
            read: dict[str, Any] = json.loads(b"".join([each async for each in answer.chunks()]))
            return read


def _show(diagnosis: dict[str, Any]) -> None:
    findings = diagnosis["findings"]
    if not findings:
        ERR.print(f"Nothing is wrong for {diagnosis['target']}.")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("where", "rule", "found", "what is done"):
        table.add_column(name, overflow="fold")
    for each in findings:
        found, limit = each.get("actual", f"not so: {each['demands']}"), each.get("limit")
        told = f"{found} (takes {limit})" if limit is not None else str(found)
        place = each["pointer"] or "/"
        table.add_row(escape(one_line(place)), each["rule"], escape(one_line(told)), each["fix"])
    ERR.print(table)
    things = "thing is" if len(findings) == 1 else "things are"
    ERR.print(f"\n{len(findings)} {things} wrong for {diagnosis['target']}.")


def healed_body(sent: JsonValue, diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with a healed history, to be sent again.

    What stands around the history stays if the target is that of its own dialect. For another one
    it would be that of the wrong provider.

    Args:
        sent: The body that was examined.
        diagnosis: The answer of the doctor, with the healed history.
    """
    target = diagnosis["target"]
    messages_name = _MESSAGES_OF.get(target, "messages")
    is_own = isinstance(sent, dict) and diagnosis["dialect"] in (target, None)
    body = dict(sent) if is_own else {}
    name = list_name(sent) if is_own else None
    if name is not None and sent_messages(sent) == diagnosis["messages"]:
        return body
    system_name = next((each for each in SYSTEM_NAMES if body.get(each)), None)
    has_moved = any(each["rule"] in _OF_SYSTEM for each in diagnosis["findings"])
    system = diagnosis.get("system")
    if system is None or has_moved or system_name is None:
        body = {key: each for key, each in body.items() if key not in SYSTEM_NAMES}
        if system is not None:
            key = system_name or _SYSTEM_OF.get(target, "system")
            body = {key: _SYSTEM_AS.get(target, str)(system), **body}
    if name != messages_name:
        body.pop(name or "", None)
    return {**body, messages_name: diagnosis["messages"]}


def _write(output: Path, healed: dict[str, Any]) -> None:
    text = json.dumps(healed, ensure_ascii=False, indent=2)
    if str(output) == "-":
        typer.echo(text)
        return
    try:
        output.write_text(f"{text}\n")
    except OSError as exc:
        raise HistoryFileError(f"{output} cannot be written: {exc.strerror}.") from exc
    say(f"{output}")
