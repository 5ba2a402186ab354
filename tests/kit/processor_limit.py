"""A pytest plugin that ends the process (SIGPROF) if a test takes 15 seconds of processor time.

The time on the clock is not limited: tests on a busy machine wait for a processor.
"""

import signal


def pytest_runtest_setup() -> None:
    """Start the time of a test anew."""
    signal.setitimer(signal.ITIMER_PROF, 15)
