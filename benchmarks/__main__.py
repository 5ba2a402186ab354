"""All benchmarks, one after the other: `make bench`.

    python -m benchmarks [--only lookups,content] [--no-write | --smoke]

Prints one table and rewrites `benchmarks/results.md`. With `--smoke` everything runs at a size of
nothing, answers are checked, and no time is judged, shown or written down.
"""

import argparse
import importlib
import os
import resource
import signal
import sys
import time
import warnings
from collections.abc import Sequence
from functools import partial

import anyio

from benchmarks.figures import Figure, Scale, WrongAnswerError
from benchmarks.report import print_table, write_results

MODULES = {
    "ingest": "ingest",
    "content": "content",
    "lookups": "lookups",
    "growth": "growth",
    "common": "common_case",
    "fan-out": "event_fanout",
    "load": "load",
    "hostile": "hostile",
    "event-loop": "event_loop",
    "fetching": "fetching",
    "restarts": "restarts",
    "overload": "overload",
    "memory-in": "memory_in",
    "search": "page_search",
    "search-backlog": "search_backlog",
    "rendering": "session_render",
    "steps": "steps",
    "memory-out": "memory_out",
    "agents": "agents",
    "context": "context",
    "dialects": "dialects",
    "conversations": "conversations",
    "migrations": "online_migrations",
    "capacity": "capacity",
    "viewer": "viewer",
}
"""By group, in the order in which they are run and written down, the module that measures it."""

_BUSY = 0.5


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure.")
    parser.add_argument("--only", default=",".join(MODULES), help="groups, separated by commas")
    parser.add_argument("--no-write", action="store_true", help="leave results.md as it is")
    parser.add_argument("--smoke", action="store_true", help="only see that everything runs")
    options = parser.parse_args()
    groups = options.only.split(",")
    if unknown := set(groups) - set(MODULES):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(MODULES)}")
    # A thousand listeners are a thousand sockets.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # At a signal, it ends the processes that it has started.
    warnings.filterwarnings("ignore", ".*XDG_RUNTIME_DIR.*")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if not options.smoke and (load := os.getloadavg()[0]) > _BUSY:
        sys.stderr.write(
            f"The machine is busy (load {load:.1f}): what is timed is not worth much.\n"
        )
    figures: list[Figure] = []
    for group in groups:
        measured = _measured(group, Scale.SMOKE if options.smoke else Scale.FULL)
        figures += measured
        if not options.smoke and not options.no_write:
            # At once, so that no figures are lost if a later group fails.
            write_results(measured, list(MODULES))
    if not options.smoke:
        print_table(figures)


def _measured(group: str, scale: Scale) -> Sequence[Figure]:
    """Return the figures of a group; prints how long it takes."""
    began = time.perf_counter()
    module = importlib.import_module(f"benchmarks.{MODULES[group]}")
    # The service's loop: the client must not be slower than the service.
    measure = partial(module.measure, scale)
    figures: Sequence[Figure] = anyio.run(measure, backend_options={"use_uvloop": True})
    if not figures or {figure.group for figure in figures} != {group}:
        raise WrongAnswerError(f"benchmarks.{MODULES[group]} has other figures than {group}'s")
    sys.stderr.write(f"{group}: {len(figures)} figures, {time.perf_counter() - began:.0f} s\n")
    return figures


if __name__ == "__main__":
    main()
