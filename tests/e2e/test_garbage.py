"""What a server has loaded is not gone through for garbage while somebody waits."""

import subprocess
import sys

from tests.kit.process import ROOT, WAIT_SECONDS, environment

COUNTING = """
import gc
from app.server.uvicorn_config import served_app
app = served_app()
gc.collect()
print(gc.get_freeze_count() > 20 * len(gc.get_objects()), app.title)
"""


def test_what_a_server_has_loaded_is_never_looked_through_again() -> None:
    found = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-c", COUNTING],
        cwd=ROOT,
        env=environment({}),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=True,
    )
    assert found.stdout == "True Pagefault\n"
