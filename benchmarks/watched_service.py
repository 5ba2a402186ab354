"""The service, with a thread that notes how long the interpreter is held.

    python -m benchmarks.watched_service serve --port 0

is the service. The thread wakes every two milliseconds. How long it waits beyond that for the
interpreter is how long the event loop would have waited for another thread. Python code that the
event loop itself runs is not seen, since the interpreter is switched to the thread after five
milliseconds: that shows in `/healthz` alone. Waits above `NOTED_MS` are written to the
file that `HOLDS_FILE` names: one JSON array a line, of the milliseconds of processor time that the
process spent meanwhile and where its threads were afterwards. Processor time is not spent while
other programs of the machine have their turn.
"""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

COMMAND = (sys.executable, "-m", "benchmarks.watched_service")
"""The watched service, to be followed by its arguments."""
HOLDS_FILE = "BENCHMARK_HOLDS_FILE"
NOTED_MS = 15.0
_REST_SECONDS = 0.002
_FRAMES = 6


def _watch(file: Path) -> None:
    with file.open("a", buffering=1) as sink:
        while True:
            began = time.process_time()
            time.sleep(_REST_SECONDS)
            held_ms = (time.process_time() - began) * 1e3
            if held_ms > NOTED_MS:
                sink.write(json.dumps([round(held_ms, 1), [*_places()]]) + "\n")


def _places() -> Iterator[str]:
    """Yield where each thread is in the code of the application, the innermost frames first."""
    for thread, frame in sys._current_frames().items():
        frames = traceback.extract_stack(frame)
        if thread != threading.get_ident() and any("/app/" in item.filename for item in frames):
            innermost = frames[: -_FRAMES - 1 : -1]
            yield " < ".join(f"{Path(item.filename).name}:{item.lineno}" for item in innermost)


def main(arguments: Sequence[str]) -> None:
    """Run the command beside the thread."""
    file = Path(os.environ[HOLDS_FILE])
    threading.Thread(target=_watch, args=(file,), daemon=True).start()
    from app.cli.main import main as run  # noqa: PLC0415 - what it loads is watched as well

    sys.argv[1:] = arguments
    run()


if __name__ == "__main__":
    main(sys.argv[1:])
