"""Metrics of the worker processes of a service, read from `/proc`."""

import os
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from prometheus_client import Metric, ProcessCollector, multiprocess
from prometheus_client.registry import Collector


class WorkerProcesses(Collector):
    """The metrics `process_*` of each running worker, with its `pid` as a label.

    Gauges of workers that have ended are removed, because they would be added to those of others.

    Args:
        folder: The directory in which each worker has files of metrics, named by its pid.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of all running workers."""
        merged: dict[str, Metric] = {}
        for pid in self._running_pids():
            for found in ProcessCollector(pid=partial(int, pid), registry=None).collect():
                metric = merged.setdefault(
                    found.name, Metric(found.name, found.documentation, found.type)
                )
                for sample in found.samples:
                    metric.add_sample(sample.name, {"pid": str(pid)}, sample.value)
        return merged.values()

    def _running_pids(self) -> list[int]:
        pids = {int(path.stem.rpartition("_")[2]) for path in Path(self._folder).glob("*_*.db")}
        running = []
        for pid in sorted(pids):
            try:
                os.kill(pid, 0)
                running.append(pid)
            except OSError:
                # Another worker may remove them at the same time.
                with suppress(FileNotFoundError):
                    multiprocess.mark_process_dead(pid, self._folder)  # type: ignore[no-untyped-call]
        return running
