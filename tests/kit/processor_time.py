"""The processor time of a process between a question and its answer, on a busy machine too."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path


def longest_ms(pid: int, question: Callable[[], object], attack: Callable[[], object]) -> float:
    """The most processor time between a question and its answer, while something else is asked."""
    longest = 0.0
    question()
    with ThreadPoolExecutor(1) as thread:
        attacking = thread.submit(attack)
        while not wait([attacking], timeout=0.005).done:
            before = _processor_ms(pid)
            question()
            longest = max(longest, _processor_ms(pid) - before)
        attacking.result()
    return longest


def _processor_ms(pid: int) -> float:
    """The processor time of all threads of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1e3 / os.sysconf("SC_CLK_TCK")
