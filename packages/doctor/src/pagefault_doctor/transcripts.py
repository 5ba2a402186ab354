"""Diagnosis and repair of a transcript of a coding agent: `pagefault doctor FILE.jsonl`."""

import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import typer
from rich.markup import escape
from rich.table import Table

from app.cli.terminal import ERR, format_count, print_line, to_one_line
from app.config.settings import Settings
from app.features import FEATURES, open_services
from pagefault_dialects.dialects.claude_code import find_path
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonObject, JsonValue, json_bytes, json_text
from pagefault_doctor.doctor import Doctor, DoctorQuery
from pagefault_doctor.feature import FEATURE
from pagefault_doctor.transcript_files import (
    HOST_NAMES,
    TARGETS,
    Host,
    Transcript,
    TranscriptError,
    read_transcript,
    replace_file,
)
from pagefault_doctor.transcript_repairs import (
    NO_CONTENT,
    Edits,
    change_line,
    edit_claude_code,
    edit_codex,
    get_item,
    index_messages,
    list_blocks,
    locate_blocks,
    locate_finding,
    locate_item,
)

_CHUNK_BYTES = 1 << 20
_PAIR_RULES = (
    *("no-answer", "no-call", "late-answer", "answered-before", "duplicate-answer"),
    "wrong-order",
)
# Broken lines are removed. Missing earlier lines cannot be restored.
_LINE_RULES = ("broken-line", "lost-parent")
# A changed id or name would have to be changed in other lines as well, so it is not repaired.
_ID_RULES = ("bad-id", "bad-name", "duplicate-id", "no-id")
# Descriptions of repairs that differ from the doctor's, because lines are repaired one by one.
_FIXES = {
    **dict.fromkeys(_PAIR_RULES, "it becomes text"),
    "no-answer": "a line with a result is inserted",
    "late-answer": "it is moved behind its call",
    "empty-content": f'it becomes "{NO_CONTENT}"',
}
# In a request with more than 20 images, the limit on the pixels of each is lower. If the transcript
# has so many, a block is examined with this filler image as often, so that the lower limit applies.
_MANY_IMAGES = 20
_FILLER_BASE64 = (
    "iVBORw0KGgoAAAANSUhEUgAAAEAAAABAAQAAAACCEkxzAAAAD0lEQVR42mNgGAWjgHwAAAJAAAHgTR1EAAAAAElF"
    "TkSuQmCC"
)
_FILLER_IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": _FILLER_BASE64},
}


@dataclass(frozen=True, slots=True)
class Examiner:
    """Examines histories and transcripts with a doctor in this process."""

    doctor: Doctor

    async def examine(
        self, body: bytes, host: Host, *, applies: bool = False
    ) -> tuple[list[JsonObject], list[JsonObject]]:
        """Return the findings of a history, and with `applies` the repaired messages.

        Raises:
            TranscriptError: The history has too many JSON values.
        """

        async def chunks() -> AsyncIterator[bytes]:
            for start in range(0, len(body), _CHUNK_BYTES):
                yield body[start : start + _CHUNK_BYTES]

        query = DoctorQuery(target=TARGETS[host], applies=applies)
        try:
            rendered = await self.doctor.examine("default", chunks(), query)
        except PayloadTooLargeError as exc:
            raise TranscriptError(
                "the conversation has more JSON values than can be examined: compact it, or start "
                "a new session."
            ) from exc
        diagnosis = json.loads(b"".join([chunk async for chunk in rendered.chunks()]))
        return diagnosis["findings"], diagnosis.get("messages", [])

    async def examine_transcript(self, transcript: Transcript) -> list[JsonObject]:
        """Return the findings of a transcript, each with the number of its `line`."""
        findings: list[JsonObject] = []
        if any("message" in line or "payload" in line for line in transcript.lines):
            findings, _ = await self.examine(transcript.body(), transcript.host)
        is_claude = transcript.host == "claude-code"
        messages = index_messages(transcript.lines) if is_claude else {}
        for finding in findings:
            finding["line"] = locate_finding(transcript.lines, messages, finding) + 1
            finding["fix"] = _FIXES.get(finding["rule"], finding["fix"])
        findings += (_describe_broken_line(index, transcript) for index in transcript.broken)
        if is_claude and (lost := _find_lost_parent(transcript.lines)) is not None:
            findings.append(lost)
        return sorted(findings, key=lambda finding: int(finding["line"]))


def _describe_broken_line(index: int, transcript: Transcript) -> JsonObject:
    is_last = index == len(transcript.lines) - 1
    return {
        "line": index + 1,
        "pointer": f"/{index}",
        "rule": "broken-line",
        "demands": "A line is JSON.",
        "actual": "the line ends in the middle" if is_last and transcript.is_cut else "no JSON",
        "fix": "it is left out",
        "source": "the agents",
    }


def _find_lost_parent(lines: Sequence[JsonObject]) -> JsonObject | None:
    """Return a finding if the first line of the conversation has a parent that is missing."""
    path = find_path(lines)
    parent = lines[path[-1]].get("parentUuid") if path else None
    if not isinstance(parent, str):
        return None
    return {
        "line": path[-1] + 1,
        "pointer": f"/{path[-1]}/parentUuid",
        "rule": "lost-parent",
        "demands": "The parent of a line is in the file.",
        "actual": parent,
        "fix": "the lines before it are not read",
        "source": "the agents",
    }


@asynccontextmanager
async def open_examiner() -> AsyncIterator[Examiner]:
    """Open a doctor whose stores are in a temporary folder, which is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="pagefault-doctor-") as folder:
        settings = Settings(data_dir=Path(folder))
        async with open_services(settings, (*FEATURES, FEATURE)) as services:
            yield Examiner(services[Doctor])


# --- Commands


def examine_transcript(file: Path, host: Host, *, as_json: bool) -> None:
    """Print the findings of a transcript; exit with status 1 if there are any."""
    transcript = read_transcript(file, host)

    async def examine() -> list[JsonObject]:
        async with open_examiner() as examiner:
            return await examiner.examine_transcript(transcript)

    findings = anyio.run(examine)
    if as_json:
        _print_json({"host": host, "lines": len(transcript.lines), "findings": findings})
    else:
        _print_findings(
            findings, f"{HOST_NAMES[host]}, {format_count(len(transcript.lines), 'line')}"
        )
        if findings:
            ERR.print("Mend the file with --in-place; a backup of it is kept.")
    if findings:
        raise typer.Exit(1)


def repair_transcript(file: Path, host: Host, *, as_json: bool) -> None:
    """Repair a transcript in place and print the changes; exit with status 1 if faults remain.

    Raises:
        TranscriptError: The file is in use or cannot be changed.
    """
    path = file.resolve()
    repaired = anyio.run(partial(_repair, path, host))
    if as_json:
        _print_json(repaired.wire(host))
    elif repaired.backup is None:
        _print_findings(repaired.findings, HOST_NAMES[host])
    else:
        for change in repaired.changes:
            print_line(f"line {change['line']}: {change['text']}")
        print_line(
            f"{format_count(len(repaired.changes), 'change')}. The old file is {repaired.backup}"
        )
        if repaired.findings:
            ERR.print("\nThis remains, since it cannot be mended line by line:")
            _print_findings(repaired.findings, HOST_NAMES[host])
    if repaired.findings:
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _RepairedTranscript:
    """The changes to a transcript, its backup if it was changed, and the remaining findings."""

    changes: Sequence[JsonObject]
    backup: Path | None
    findings: Sequence[JsonObject]

    def wire(self, host: Host) -> JsonObject:
        """Return the changes, the backup and the findings as JSON."""
        backup = None if self.backup is None else str(self.backup)
        return {
            "host": host,
            "backup": backup,
            "changes": [*self.changes],
            "findings": [*self.findings],
        }


async def _repair(file: Path, host: Host) -> _RepairedTranscript:
    state = await anyio.Path(file).stat()
    transcript = read_transcript(file, host)
    async with open_examiner() as examiner:
        findings = await examiner.examine_transcript(transcript)
        if not findings:
            return _RepairedTranscript((), None, ())
        edits = await _plan_edits(examiner, transcript, findings)
        if not (edits.messages or edits.inserted or edits.removed):
            return _RepairedTranscript((), None, findings)
        rewritten: list[Transcript] = []
        backup = replace_file(
            file,
            state,
            partial(change_line, transcript, edits),
            check=lambda written: rewritten.append(read_transcript(written, host)),
        )
        remaining = await examiner.examine_transcript(rewritten[0])
    changes = [
        {"line": index + 1, "text": "it was no JSON, and is left out"} for index in edits.removed
    ]
    changes += ({"line": change.line + 1, "text": change.text} for change in edits.changes)
    return _RepairedTranscript(
        sorted(changes, key=lambda item: int(item["line"])), backup, remaining
    )


async def _plan_edits(
    examiner: Examiner, transcript: Transcript, findings: Sequence[JsonObject]
) -> Edits:
    other_rules = (*_PAIR_RULES, *_ID_RULES, *_LINE_RULES)
    block_findings = [finding for finding in findings if finding["rule"] not in other_rules]
    if transcript.host == "codex":
        return edit_codex(transcript, await _repair_items(examiner, transcript, block_findings))
    lines = transcript.lines
    messages = index_messages(lines)
    findings_by_block: dict[tuple[int, int], JsonObject] = {}
    for finding in block_findings:
        for position in locate_blocks(lines, messages, finding["pointer"]):
            findings_by_block.setdefault(position, finding)
    contents = {line: list_blocks(lines[line]) for line, _ in findings_by_block}
    has_many_images = _count_images(lines) > _MANY_IMAGES
    repairs: dict[tuple[int, int], tuple[Sequence[JsonObject], str]] = {}
    for (line, index), finding in findings_by_block.items():
        if index < len(contents[line]) and isinstance(contents[line][index], dict):
            block, role = contents[line][index], lines[line]["type"]
            blocks = await _repair_block(examiner, block, role, has_many_images=has_many_images)
            if blocks != [block]:
                repairs[line, index] = (blocks, _describe_repair(finding, block, blocks))
    empty = {int(item["line"]) - 1 for item in block_findings if item["rule"] == "empty-content"}
    empty_lines = [
        line for line in empty if "message" in lines[line] and not list_blocks(lines[line])
    ]
    return edit_claude_code(transcript, repairs, sorted(empty_lines))


def _count_images(lines: Sequence[JsonObject]) -> int:
    messages = (line["message"] for line in lines if "message" in line)
    return sum(json_text(message).count('"type":"image"') for message in messages)


def _describe_repair(finding: JsonObject, old: JsonValue, new: JsonValue) -> str:
    actual = to_one_line(str(finding.get("actual", "")))
    description = f"{finding['rule']} ({actual})" if actual else finding["rule"]
    if not new:
        return f"{description}: the block is removed"
    if _has_image(new):
        return f"{description}: an image that is accepted replaces it"
    return (
        f"{description}: {'a line of text replaces it' if _has_image(old) else 'it is rewritten'}"
    )


def _has_image(value: JsonValue) -> bool:
    text = json_text(value)
    return '"type":"image"' in text or '"type":"input_image"' in text


async def _repair_block(
    examiner: Examiner, block: JsonObject, role: str, *, has_many_images: bool
) -> list[JsonObject]:
    """Return the blocks that replace a block.

    The doctor repairs a short history that is made for the block.

    Args:
        examiner: The doctor.
        block: The block.
        role: The role of the message of the block.
        has_many_images: Whether the transcript has so many images that the limit of each is lower.
    """
    if block.get("type") == "text" and not str(block.get("text", "")).strip():
        return []
    fillers = [_FILLER_IMAGE] * _MANY_IMAGES if has_many_images and role == "user" else []
    opening = {"role": "user", "content": [{"type": "text", "text": "-"}]}
    history: list[JsonValue] = [{"role": role, "content": [block, *fillers]}]
    if role == "assistant":
        history = [opening, *history]
    elif block.get("type") == "tool_result":
        call: JsonObject = {
            "type": "tool_use",
            "id": block.get("tool_use_id"),
            "name": "tool",
            "input": {},
        }
        history = [opening, {"role": "assistant", "content": [call]}, *history]
    body = json_bytes({"max_tokens": 1, "system": "-", "messages": history})
    findings, messages = await examiner.examine(body, "claude-code", applies=True)
    if not findings:
        return [block]
    index = len(history) - 1
    content: list[JsonObject] = messages[index]["content"] if index < len(messages) else []
    return content[: len(content) - len(fillers)]


async def _repair_items(
    examiner: Examiner, transcript: Transcript, findings: Sequence[JsonObject]
) -> dict[int, tuple[JsonObject, str]]:
    repairs: dict[int, tuple[JsonObject, str]] = {}
    for finding in findings:
        line = locate_item(finding["pointer"])
        if line is None or line in repairs:
            continue
        item = get_item(transcript.lines[line])
        repaired = await _repair_item(examiner, item)
        if repaired is not None and repaired != item:
            repairs[line] = (repaired, _describe_repair(finding, item, repaired))
    return repairs


async def _repair_item(examiner: Examiner, item: JsonObject) -> JsonObject | None:
    """Return an item with repaired content; `None` if the doctor does not return one such item."""
    is_output = "output" in item and isinstance(item.get("call_id"), str)
    history: list[JsonValue] = [item]
    if is_output:
        call = {"type": "function_call", "call_id": item["call_id"], "arguments": "{}"}
        history = [{**call, "name": "tool"}, {**item, "type": "function_call_output"}]
    body = json_bytes({"input": history})
    _, messages = await examiner.examine(body, "codex", applies=True)
    name = "output" if is_output else "content"
    changed_messages = [message for message in messages if name in message]
    if len(changed_messages) != 1 or name not in item:
        return None
    content = changed_messages[0][name] or NO_CONTENT
    if name == "content" and isinstance(content, str):
        # Codex reads the content of a message as a list only.
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        content = [{"type": kind, "text": content}]
    return {**item, name: content}


def _print_findings(findings: Sequence[JsonObject], subject: str) -> None:
    if not findings:
        ERR.print(f"Nothing is wrong ({subject}).")
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("line", justify="right")
    for name in ("rule", "found", "what is done"):
        table.add_column(name, overflow="fold")
    for finding in findings:
        actual = finding.get("actual", finding.get("callId", ""))
        limit = finding.get("limit")
        description = f"{actual} (takes {limit})" if limit is not None else str(actual)
        table.add_row(
            str(finding["line"]),
            finding["rule"],
            escape(to_one_line(description)),
            finding["fix"],
        )
    ERR.print(table)
    things = "thing is" if len(findings) == 1 else "things are"
    ERR.print(f"\n{len(findings)} {things} wrong ({subject}).")


def _print_json(value: JsonObject) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))
