"""`pagefault gc` and `pagefault fsck`: sweep and check the stores, beside a running server."""

import re
from typing import Annotated

import anyio
import typer
from rich.filesize import decimal
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn

from app.errors import StoreUnavailableError
from app.services.store_check import StoreCheckReport, StoreFault
from app.services.sweep import SweepReport
from app.settings import Settings
from app.terminal import (
    CANNOT,
    ERR,
    OUT,
    DataDirOption,
    complain,
    existing_stores,
    say,
)
from app.wiring import open_container

_DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([smhd]?)\Z")
_SECONDS_OF_UNIT = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 24 * 3600}
_NAMED_OWNERS = 5
_HEALING = "restore them from a backup, or upload the file again"
_WRONG = {
    "missing": f"the bytes are gone: {_HEALING}",
    "damaged": "the bytes are damaged: `pagefault fsck --repair` takes them out of service",
    "wrong-size": "the bytes are whole, but not as many as recorded: restore the database from a "
    "backup",
    "unreadable": "the bytes cannot be read: look at the disk or the bucket",
}
_QUARANTINED = f"the bytes are damaged, and now in quarantine: {_HEALING}"
_NOT_QUARANTINED = "the bytes were damaged and have been written anew meanwhile: check again"


def sweep_stores(
    grace: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS|30m|24h|7d",
            help="How old a file that nothing refers to has to be.",
            show_default="PAGEFAULT_SWEEP__GRACE_SECONDS",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be removed.")
    ] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Remove files that nothing refers to, and uploads and keys whose time is over."""
    given = None if grace is None else _seconds(grace)
    settings = existing_stores(data_dir=data_dir)
    grace_seconds = settings.sweep.grace_seconds if given is None else given
    report = anyio.run(_sweep, settings, grace_seconds, dry_run)
    say(_summary(report, dry_run=dry_run))


def check_stores(
    repair: Annotated[
        bool, typer.Option("--repair", help="Move damaged files to where nobody is served them.")
    ] = False,
    data_dir: DataDirOption = None,
) -> None:
    """Read every stored file through and check it.

    Ends with status 1 if something is wrong, 2 if it could not be checked.
    """
    try:
        report = anyio.run(_check, existing_stores(data_dir=data_dir), repair)
    except StoreUnavailableError as exc:
        complain(
            f"{exc.cause or 'a store does not answer'}. The check is not complete: run it again."
        )
        raise SystemExit(CANNOT) from exc
    checked = f"Checked {_count(report.blobs, 'file')} ({decimal(report.bytes_read)})"
    say(f"{checked}: {_count(report.faults, 'fault') if report.faults else 'all are sound'}.")
    if report.unneeded:
        say(f"Nothing refers to {_count(report.unneeded, 'more file')}: `pagefault gc` removes it.")
    if report.faults:
        raise SystemExit(1)


async def _sweep(settings: Settings, grace_seconds: float, dry_run: bool) -> SweepReport:
    async with open_container(settings) as container:
        with _progress(BarColumn(), TextColumn("{task.fields[seen]}")) as progress:
            task = progress.add_task("sweeping", total=None, seen="")

            def show(report: SweepReport) -> None:
                seen = f"{report.looked_at:,} looked at, {report.removed:,} removed"
                progress.update(task, seen=seen)

            return await container.sweep.run(grace_seconds, dry_run=dry_run, progress=show)


async def _check(settings: Settings, repair: bool) -> StoreCheckReport:
    async with open_container(settings) as container:
        with _progress(BarColumn(), DownloadColumn()) as progress:
            task = progress.add_task("checking", total=None)

            def show(read_bytes: int, total_bytes: int) -> None:
                progress.update(task, completed=read_bytes, total=total_bytes)

            def tell(fault: StoreFault) -> None:
                say(_told(fault, repair=repair))

            return await container.store_check.run(tell, repair=repair, progress=show)


def _progress(*columns: ProgressColumn) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        *columns,
        console=ERR,
        transient=True,
        disable=not ERR.is_terminal,
        # What is printed goes above the bar, but stays in a pipe that it was sent into.
        redirect_stdout=OUT.is_terminal,
    )


def _seconds(text: str) -> float:
    match = _DURATION.match(text)
    if match is None:
        raise typer.BadParameter(
            "must be a number of seconds, or one with a unit: 90, 30m, 24h, 7d",
            param_hint="--grace",
        )
    return float(match.group(1)) * _SECONDS_OF_UNIT[match.group(2)]


def _summary(report: SweepReport, *, dry_run: bool) -> str:
    files = f"{_count(report.removed, 'file')} that nothing refers to"
    removed = [
        f"{files} ({decimal(report.bytes_removed)})" if report.removed else "",
        _count_if_any(report.temporary_removed, "temporary file"),
        _count_if_any(report.expired_uploads, "expired upload"),
        _count_if_any(report.expired_keys, "expired idempotency key"),
        _count_if_any(report.expired_events, "expired event"),
        (
            f"the reservation of {decimal(report.expired_reserved_bytes)} that never came"
            if report.expired_reserved_bytes
            else ""
        ),
    ]
    *first, last = [part for part in removed if part] or ["nothing"]
    listed = f"{', '.join(first)} and {last}" if first else last
    sentence = f"{'Would remove' if dry_run else 'Removed'} {listed}."
    if report.kept_young:
        young = _count(report.kept_young, "file")
        sentence += f" Left {young} that nothing refers to for the grace period."
    return sentence


def _told(fault: StoreFault, *, repair: bool) -> str:
    named = list(fault.owners[:_NAMED_OWNERS])
    if len(fault.owners) > _NAMED_OWNERS:
        named.append(f"{len(fault.owners) - _NAMED_OWNERS:,} more")
    wrong = _WRONG[fault.kind]
    if repair and fault.kind == "damaged":
        wrong = _QUARANTINED if fault.is_quarantined else _NOT_QUARANTINED
    return (
        f"{fault.kind}  project {fault.project_id}  sha-256:{fault.digest}  "
        f"{', '.join(named)}  {wrong}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _count_if_any(number: int, noun: str) -> str:
    return _count(number, noun) if number else ""
