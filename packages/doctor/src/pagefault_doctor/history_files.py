"""Diagnose and repair the history in a file, for `pagefault doctor`.

Source: design document `context.md`, "Healing".
"""

import json
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast, get_args

import anyio
import typer
from rich.markup import escape
from rich.table import Table

from app.cli.error_output import EXIT_CANNOT_START, print_error
from app.cli.terminal import (
    ERR,
    CommandError,
    describe_known_error,
    print_line,
    to_one_line,
)
from app.config.settings import Settings
from app.features import FEATURES, open_services
from pagefault_dialects.dialects.foreign_message import Dialect
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import JsonValue, repair_surrogates
from pagefault_dialects.messages.histories import (
    MASTRA_SYSTEM_NAMES,
    SYSTEM_NAMES,
    find_list_name,
    list_sent_messages,
)
from pagefault_dialects.targets.table import TARGETS
from pagefault_doctor.doctor import Doctor, DoctorQuery
from pagefault_doctor.feature import FEATURE
from pagefault_doctor.transcript_files import find_host
from pagefault_doctor.transcripts import examine_transcript, repair_transcript

_CHUNK_BYTES = 1 << 20
_TARGET_SYSTEM_NAMES = {"gemini": "systemInstruction", "openai-responses": "instructions"}
_SYSTEM_WRITERS: Mapping[str, Callable[[str], Any]] = {
    "gemini": lambda text: {"parts": [{"text": text}]},
    "bedrock": lambda text: [{"text": text}],
}
_TARGET_MESSAGES_NAMES = {"gemini": "contents", "openai-responses": "input"}
# The repairs of these rules change the system prompt.
_SYSTEM_RULES = ("system-among-messages", "half-surrogate", "repeated-key", "base64-in-text")


class HistoryFileError(CommandError):
    """The file cannot be read or written, or has no history; the message has the reason."""


def examine_file(
    file: Path,
    *,
    target: str | None,
    dialect: str | None,
    max_tokens: int | None,
    output: Path | None,
    as_json: bool,
    in_place: bool = False,
) -> None:
    """Print the findings of a history in a file; with `output`, write the repaired history.

    The command exits with status 1 if there are findings and no `output`, and with 2 if the file
    has no history.

    Raises:
        HistoryFileError: The repaired history cannot be written.
    """
    query = DoctorQuery(
        _check_choice("--target", target, tuple(TARGETS)),
        cast("Dialect | None", _check_choice("--dialect", dialect, get_args(Dialect))),
        max_tokens,
        applies=output is not None,
    )
    if in_place and (output is not None or query != DoctorQuery()):
        raise typer.BadParameter("goes without the other options", param_hint="--in-place")
    try:
        # A pipe can be read only once.
        host = find_host(file) if file.is_file() and query == DoctorQuery() else None
        if host is not None:
            examine = repair_transcript if in_place else examine_transcript
            examine(file, host, as_json=as_json)
            return
        content = _read_file(file)
        if in_place or not content:
            problem = "is no transcript of Claude Code or Codex" if content else "is empty"
            raise HistoryFileError(f"{file} {problem}.")
        diagnosis = anyio.run(_examine, content, query)
    except (CommandError, PagefaultError) as exc:
        # Not status 1, which reports findings.
        sentence = describe_known_error(exc) or str(exc)
        print_error(sentence.replace("The body", str(file)))
        raise typer.Exit(EXIT_CANNOT_START) from exc
    writes_to_stdout = output is not None and str(output) == "-"
    if as_json and not writes_to_stdout:
        findings = {name: value for name, value in diagnosis.items() if name != "messages"}
        typer.echo(json.dumps(findings, ensure_ascii=False, indent=2))
    else:
        _print_findings(diagnosis)
    if output is not None:
        _write_file(output, build_repaired_body(repair_surrogates(json.loads(content)), diagnosis))
    elif diagnosis["findings"]:
        raise typer.Exit(1)


def _check_choice(option: str, value: str | None, choices: tuple[str, ...]) -> str | None:
    if value is not None and value not in choices:
        raise typer.BadParameter(f"must be one of {', '.join(choices)}", param_hint=option)
    return value


def _read_file(file: Path) -> bytes:
    """Return the JSON of a file or of standard input; JSON lines become a list."""
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
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(content), _CHUNK_BYTES):
            yield content[start : start + _CHUNK_BYTES]

    # The folder keeps smaller images while they are needed.
    with tempfile.TemporaryDirectory(prefix="pagefault-doctor-") as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_services(settings, (*FEATURES, FEATURE)) as services:
            rendered = await services[Doctor].examine("default", chunks(), query)
            diagnosis: dict[str, Any] = json.loads(
                b"".join([chunk async for chunk in rendered.chunks()])
            )
            return diagnosis


def _print_findings(diagnosis: dict[str, Any]) -> None:
    findings = diagnosis["findings"]
    if not findings:
        ERR.print(f"Nothing is wrong for {diagnosis['target']}.")
        return
    table = Table(box=None, pad_edge=False)
    for name in ("where", "rule", "found", "what is done"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        found, limit = finding.get("actual", f"not so: {finding['demands']}"), finding.get("limit")
        text = f"{found} (takes {limit})" if limit is not None else str(found)
        pointer = finding["pointer"] or "/"
        table.add_row(
            escape(to_one_line(pointer)),
            finding["rule"],
            escape(to_one_line(text)),
            finding["fix"],
        )
    ERR.print(table)
    things = "thing is" if len(findings) == 1 else "things are"
    ERR.print(f"\n{len(findings)} {things} wrong for {diagnosis['target']}.")


def build_repaired_body(sent: JsonValue, diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request with its repaired history, to be sent again.

    The other members of the request are kept if the request is in the dialect of the target, and
    dropped otherwise.

    Args:
        sent: The body that was examined.
        diagnosis: The diagnosis, with the repaired history.
    """
    target = diagnosis["target"]
    messages_name = _TARGET_MESSAGES_NAMES.get(target, "messages")
    is_same_dialect = isinstance(sent, dict) and diagnosis["dialect"] in (target, None)
    body = dict(sent) if is_same_dialect else {}
    name = find_list_name(sent) if is_same_dialect else None
    system_names = [item for item in SYSTEM_NAMES if body.get(item)]
    if system_names and not _has_system_form(body, system_names, target, diagnosis["dialect"]):
        body = {key: value for key, value in body.items() if key not in SYSTEM_NAMES}
        system_names = []
    elif name is not None and list_sent_messages(sent) == diagnosis["messages"]:
        return body
    system_name = system_names[0] if system_names else None
    changes_system = any(finding["rule"] in _SYSTEM_RULES for finding in diagnosis["findings"])
    system = diagnosis.get("system")
    if system is None or changes_system or system_name is None:
        body = {key: value for key, value in body.items() if key not in SYSTEM_NAMES}
        if system is not None:
            key = system_name or _TARGET_SYSTEM_NAMES.get(target, "system")
            body = {key: _SYSTEM_WRITERS.get(target, str)(system), **body}
    if name != messages_name:
        body.pop(name or "", None)
    return {**body, messages_name: diagnosis["messages"]}


def _has_system_form(
    body: Mapping[str, JsonValue], names: Sequence[str], target: str, dialect: str | None
) -> bool:
    """Return whether requests of a target may have the system prompt of a body as it is.

    Args:
        body: The body.
        names: The names of the members with its system prompts.
        target: The target.
        dialect: The dialect of the body; `None` if it could be of any dialect.
    """
    prompt = body[names[0]]
    # Frameworks have messages as system prompts, and providers have texts and blocks.
    has_messages = any(
        isinstance(item, dict) and "content" in item
        for item in (prompt if isinstance(prompt, list) else [prompt])
    )
    is_single = len(names) == 1 and names[0] not in MASTRA_SYSTEM_NAMES
    is_in_dialect = dialect == target or (target == "anthropic" and names[0] == "system")
    return is_single and is_in_dialect and not has_messages


def _write_file(output: Path, body: dict[str, Any]) -> None:
    text = json.dumps(body, ensure_ascii=False, indent=2)
    if str(output) == "-":
        typer.echo(text)
        return
    try:
        output.write_text(f"{text}\n")
    except OSError as exc:
        raise HistoryFileError(f"{output} cannot be written: {exc.strerror}.") from exc
    print_line(f"{output}")
