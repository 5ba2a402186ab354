"""`pagefault migrate`, `gc` and `fsck`: migrate, sweep and check the stores."""

import re
from itertools import groupby
from pathlib import Path

import anyio
import typer
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn

from app.cli.error_output import EXIT_CANNOT_START, print_error
from app.cli.terminal import (
    ERR,
    OUT,
    format_count,
    print_line,
    read_existing_store_settings,
    read_settings,
)
from app.config.settings import Settings
from app.errors import StoreUnavailableError
from app.services.maintenance.fsck import StoreCheck, StoreCheckReport, StoreFault
from app.services.maintenance.sweep import Sweep, SweepReport
from app.telemetry.logs import configure_logging
from app.wiring import maintenance_services
from app.wiring.open_stores import Stores, open_storage_quota
from app.wiring.services import Services
from app.wiring.stores import migrate_database, open_records, plan_database_migration

_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)\Z")
_SECONDS_OF_UNIT = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_LISTED_OWNERS = 5
_RESTORE_ADVICE = "restore them from a backup, or upload the file again"
_FAULT_TEXTS = {
    "missing": f"the bytes are gone: {_RESTORE_ADVICE}",
    "damaged": "the bytes are damaged: `pagefault fsck --repair` takes them out of service",
    "wrong-size": "the bytes are whole, but not as many as recorded: restore the database from a "
    "backup",
    "unreadable": "the bytes cannot be read: look at the disk or the bucket",
}
_QUARANTINED = f"the bytes are damaged, and now in quarantine: {_RESTORE_ADVICE}"
_NOT_QUARANTINED = "the bytes were damaged and have been written anew meanwhile: check again"


def migrate_stores(data_dir: Path | None, env_file: Path | None) -> None:
    """Migrate the database, and print the old and the new revision."""
    settings = read_settings(data_dir, env_file)
    configure_logging(settings.log_format, "warning")
    before, after = anyio.run(migrate_database, settings)
    if before == after:
        print_line(f"The database is up to date (revision {after}).")
    else:
        print_line(f"Migrated the database from {before or 'nothing'} to revision {after}.")


def print_migration_plan(data_dir: Path | None, env_file: Path | None) -> None:
    """Print the statements of a migration, their locks, and what would wait for these locks."""
    planned = anyio.run(plan_database_migration, read_existing_store_settings(data_dir, env_file))
    if not planned:
        print_line("The database is up to date.")
        return
    for revision, statements in groupby(planned, key=lambda item: item.revision):
        print_line(f"{revision}")
        for statement in statements:
            rows = "" if statement.rows is None else f", about {max(statement.rows, 0):,} rows"
            lock = f" [{statement.lock}]" if statement.lock else ""
            print_line(f"  {statement.statement} {statement.table}{rows}{lock}: {statement.waits}")


def sweep_stores(
    data_dir: Path | None, env_file: Path | None, *, grace: str | None, dry_run: bool
) -> None:
    """Sweep the stores and print a summary."""
    seconds = None if grace is None else _parse_duration(grace)
    settings = read_existing_store_settings(data_dir, env_file)
    grace_seconds = settings.sweep.grace_seconds if seconds is None else seconds
    report = anyio.run(_sweep, settings, grace_seconds, dry_run)
    print_line(_summarize_sweep(report, dry_run=dry_run))


def check_stores(data_dir: Path | None, env_file: Path | None, *, repair: bool) -> None:
    """Check the stores and print each fault.

    Raises:
        SystemExit: A fault was found, or the check could not finish.
    """
    try:
        report = anyio.run(_check, read_existing_store_settings(data_dir, env_file), repair)
    except StoreUnavailableError as exc:
        reason = exc.cause.sentence if exc.cause else "a store does not answer"
        print_error(f"{reason}. The check is not complete: run it again.")
        raise SystemExit(EXIT_CANNOT_START) from exc
    for line in _summarize_check(report):
        print_line(line)
    if report.faults:
        raise SystemExit(1)


async def _sweep(settings: Settings, grace_seconds: float, dry_run: bool) -> SweepReport:
    async with (
        open_records(settings) as (records, blobs),
        open_storage_quota(settings, records, blobs) as stored_bytes,
    ):
        values = Stores(records, blobs, stored_bytes).values(settings)
        sweep = Services(maintenance_services.SERVICES, values)[Sweep]
        with _create_progress(BarColumn(), TextColumn("{task.fields[counts]}")) as progress:
            task = progress.add_task("sweeping", total=None, counts="")

            def show_counts(report: SweepReport) -> None:
                counts = f"{report.examined:,} looked at, {report.removed:,} removed"
                progress.update(task, counts=counts)

            return await sweep.run(grace_seconds, dry_run=dry_run, progress=show_counts)


async def _check(settings: Settings, repair: bool) -> StoreCheckReport:
    async with open_records(settings) as (records, blobs):
        with _create_progress(BarColumn(), DownloadColumn()) as progress:
            task = progress.add_task("checking", total=None)

            def show_bytes(read_bytes: int, total_bytes: int) -> None:
                progress.update(task, completed=read_bytes, total=total_bytes)

            def report_fault(fault: StoreFault) -> None:
                print_line(_describe_fault(fault, repair=repair))

            return await StoreCheck(records, blobs).run(
                report_fault, repair=repair, progress=show_bytes
            )


def _create_progress(*columns: ProgressColumn) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
        # On a terminal, lines are printed above the bar.
        redirect_stdout=OUT.is_terminal,
    )


def _parse_duration(text: str) -> float:
    match = _DURATION.match(text)
    if match is None:
        raise typer.BadParameter(
            "must be a number of seconds, or one with a unit: 90, 30m, 24h, 7d",
            param_hint="--grace",
        )
    return float(match.group(1)) * _SECONDS_OF_UNIT[match.group(2)]


def _summarize_sweep(report: SweepReport, *, dry_run: bool) -> str:
    files = f"{format_count(report.removed, 'file')} that nothing refers to"
    reserved = decimal(report.expired_reserved_bytes)
    removed = {
        f"{files} ({decimal(report.bytes_removed)})": report.removed,
        format_count(report.temporary_removed, "temporary file"): report.temporary_removed,
        format_count(report.expired_uploads, "expired upload"): report.expired_uploads,
        format_count(report.expired_keys, "expired idempotency key"): report.expired_keys,
        format_count(report.expired_events, "expired event"): report.expired_events,
        f"the reservation of {reserved} that never came": report.expired_reserved_bytes,
    }
    *first, last = [part for part, number in removed.items() if number] or ["nothing"]
    objects = f"{', '.join(first)} and {last}" if first else last
    sentence = f"{'Would remove' if dry_run else 'Removed'} {objects}."
    if report.kept_young:
        young = format_count(report.kept_young, "file")
        sentence += f" Left {young} that nothing refers to for the grace period."
    return sentence


def _summarize_check(report: StoreCheckReport) -> list[str]:
    """Return a sentence about the checked files and, if there are any, one about unneeded files."""
    sound = "it is sound" if report.blobs == 1 else "all are sound"
    found = format_count(report.faults, "fault") if report.faults else sound
    read = decimal(report.bytes_read)
    sentences = [f"Checked {format_count(report.blobs, 'file')} ({read}): {found}."]
    if report.unneeded:
        files = format_count(report.unneeded, "more file")
        them = "it" if report.unneeded == 1 else "them"
        sentences.append(f"Nothing refers to {files}: `pagefault gc` removes {them}.")
    return sentences


def _describe_fault(fault: StoreFault, *, repair: bool) -> str:
    owners = list(fault.owners[:_LISTED_OWNERS])
    if len(fault.owners) > _LISTED_OWNERS:
        owners.append(f"{len(fault.owners) - _LISTED_OWNERS:,} more")
    text = _FAULT_TEXTS[fault.kind]
    if repair and fault.kind == "damaged":
        text = _QUARANTINED if fault.is_quarantined else _NOT_QUARANTINED
    return (
        f"{fault.kind}  project {fault.project_id}  sha-256:{fault.digest}  "
        f"{', '.join(owners)}  {text}"
    )
