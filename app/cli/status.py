"""`pagefault status`: print a report on the stores, in which the problems come first."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import anyio
from pydantic.alias_generators import to_camel
from rich.filesize import decimal

from app.cli.terminal import (
    format_count,
    print_line,
    read_existing_store_settings,
    to_one_line,
    truncate,
)
from app.services.maintenance.status import (
    CARRIER_SETTINGS,
    QuotaLimits,
    StatusReport,
    find_problems,
)
from app.stores.records.database_status import QueueStatus, ServerStatus
from app.telemetry.logs import configure_logging
from app.wiring.store_status import read_status
from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.timestamps import rfc3339

_QUERY_CHARS = 120
_UNKNOWN_TEXT = "not known, see the problems"
_LABEL_WIDTH = 15


def show_status(data_dir: Path | None, env_file: Path | None, *, as_json: bool) -> None:
    """Print the report as text or JSON.

    Raises:
        SystemExit: The report has problems; the status is 1.
    """
    settings = read_existing_store_settings(data_dir, env_file)
    # Failures are not logged, because they are in the report.
    configure_logging(settings.log_format, "critical")
    report = anyio.run(read_status, settings)
    problems = [*find_problems(report)]
    if as_json:
        members = {"problems": problems, **_to_json(asdict(report))}
        print_line(json_text(members | {"searchBacklogSeconds": report.backlog_seconds}))
    else:
        for line in _format_report(report, problems):
            print_line(to_one_line(line))
    if problems:
        raise SystemExit(1)


def _to_json(value: Any) -> Any:  # noqa: ANN401 - any part of a report
    """Convert a value for JSON: names to camelCase, and times to RFC 3339."""
    if isinstance(value, Mapping):
        return {to_camel(name): _to_json(member) for name, member in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json(item) for item in value]
    return rfc3339(value) if isinstance(value, datetime) else value


def _format_report(report: StatusReport, problems: Sequence[str]) -> Iterator[str]:
    verdict = format_count(len(problems), "problem") if problems else "no problems"
    yield f"Pagefault {report.version} at {report.read_at:%Y-%m-%d %H:%M:%S} UTC: {verdict}"
    yield from (f"  ! {problem}" for problem in problems)
    yield ""
    for name, text in _format_rows(report):
        yield f"{name + ':' if name else '':<{_LABEL_WIDTH}}{text}"


def _format_rows(report: StatusReport) -> Iterator[tuple[str, str]]:
    database, revision, disk = report.database, report.revision, report.disk
    yield "database", f"{_format_database(report)}, {report.database_location}"
    yield "schema", f"{revision.current}, needs {revision.needed}" if revision else _UNKNOWN_TEXT
    yield "pooler", _format_pooler(report)
    yield "notifications", _format_notifications(report)
    yield "files", f"{'FAILED' if 'files' in report.failures else 'ok'}, {report.blobs_location}"
    yield "disk", f"{decimal(disk.free_bytes)} free of {decimal(disk.size_bytes)}"
    yield from _format_queue_rows(report)
    yield "quotas", _format_quotas(report.quotas)
    if database is None:
        yield "statements", _UNKNOWN_TEXT
    elif database.server is None:
        yield "statements", "not available: SQLite does not measure statements"
    else:
        yield from _format_statement_rows(database.server)
    yield "Python", report.python


def _format_database(report: StatusReport) -> str:
    if report.database is None:
        return "FAILED"
    version, server = report.database.version, report.database.server
    size = decimal(report.database.size_bytes)
    if server is None:
        return f"SQLite {version}, {size}"
    used = f"{server.connections} of {server.max_connections} connections"
    return f"PostgreSQL {version}, {size}, {used}, {server.of_service} of Pagefault"


def _format_pooler(report: StatusReport) -> str:
    pooler = report.pooler
    if pooler is None:
        return "none: SQLite needs no pooler" if report.database else _UNKNOWN_TEXT
    if not pooler.is_recognized:
        return "none" if pooler.is_set is None else "none, by PAGEFAULT_DB__TRANSACTION_POOLER"
    return "yes, statements are not prepared"


def _format_notifications(report: StatusReport) -> str:
    notifications = report.notifications
    if notifications is not None:
        if not notifications.are_arriving:
            return "do not arrive, see the problems"
        return f"arrive by {CARRIER_SETTINGS[notifications.carrier]}"
    is_sqlite = report.database is not None and report.database.server is None
    return "none, processes watch the file" if is_sqlite else _UNKNOWN_TEXT


def _format_queue_rows(report: StatusReport) -> Iterator[tuple[str, str]]:
    queues, age = report.queues, report.backlog_seconds
    if queues is None:
        yield "queues", _UNKNOWN_TEXT
        return
    waiting = f"{format_count(queues.search_entries, 'record')} to index"
    yield "search", waiting if age is None else f"{waiting}, the oldest for {age:,.0f} s"
    yield "uploads", f"{queues.open_uploads:,} open"
    yield (
        "projects",
        f"{queues.projects:,}, with {format_count(queues.events, 'event')} in their logs",
    )
    yield from _format_stored_rows(queues, report.quotas.stored_bytes)


def _format_stored_rows(queues: QueueStatus, quota: int) -> Iterator[tuple[str, str]]:
    """Yield the projects with the most stored bytes, which are counted only if there is a quota."""
    for index, project in enumerate(queues.largest if quota else ()):
        share = f"{project.stored_bytes / quota:.0%} of {decimal(quota)}"
        yield "" if index else "stored", f"{share}, project {project.project_id}"


def _format_quotas(quotas: QuotaLimits) -> str:
    texts = {
        f"{quotas.requests_per_minute:,} requests a minute and key": quotas.requests_per_minute,
        f"{decimal(quotas.body_bytes_per_day)} a day and key": quotas.body_bytes_per_day,
        f"{decimal(quotas.stored_bytes)} stored by a project": quotas.stored_bytes,
    }
    return ", ".join(text for text, quota in texts.items() if quota) or "none"


def _format_statement_rows(server: ServerStatus) -> Iterator[tuple[str, str]]:
    if not server.running:
        yield "transactions", "none open"
    for index, running in enumerate(server.running):
        waits = f", waits for {running.waits_for}" if running.waits_for else ""
        query = truncate(running.query, _QUERY_CHARS)
        yield (
            "" if index else "transactions",
            f"{running.seconds:.1f} s {running.state}{waits}: {query}",
        )
    if server.slow is None:
        yield "statements", "not available: the database has no pg_stat_statements"
    for index, slow in enumerate(server.slow or ()):
        times = f"{slow.mean_seconds * 1_000:,.1f} ms on average, {slow.calls:,} times"
        query = truncate(slow.query, _QUERY_CHARS)
        yield "" if index else "statements", f"{times}: {query}"
