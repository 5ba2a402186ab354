"""Metrics of several workers: one answer has those of all that live."""

import os
import re
import signal
from pathlib import Path

import anyio
import httpx
import pytest

from tests.kit.event_crowds import listen
from tests.kit.process import WAIT_SECONDS, PagefaultProcess

pytestmark = [pytest.mark.anyio, pytest.mark.engines("embedded"), pytest.mark.xdist_group("heavy")]
_COMPLETE = re.compile("Application startup complete")
_PID = re.compile(r'^process_resident_memory_bytes\{pid="(\d+)"\} [1-9]', re.MULTILINE)


async def read_metrics(client: httpx.AsyncClient) -> tuple[set[int], float]:
    """Return the workers of an answer, and the number of open streams."""
    text = (await client.get("/metrics", headers={"Connection": "close"})).text
    streams = re.search(r"^pagefault_event_streams (\S+)$", text, re.MULTILINE)
    assert streams is not None, text
    return {int(pid) for pid in _PID.findall(text)}, float(streams.group(1))


async def test_metrics_have_every_living_worker_and_forget_those_that_were_killed(
    tmp_path: Path,
) -> None:
    process = PagefaultProcess(tmp_path / "data", options=["--workers", "2"], is_installed=True)
    with process:
        process.wait_for_log(_COMPLETE, times=2)
        async with httpx.AsyncClient(
            base_url=process.base_url, timeout=WAIT_SECONDS, trust_env=False
        ) as client:
            crowd = [await (await listen(process.port, "none")).until_open() for _ in range(8)]
            with anyio.fail_after(WAIT_SECONDS):
                while (first := await read_metrics(client))[1] != len(crowd):
                    await anyio.lowlevel.checkpoint()
            killed, _ = first
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            process.wait_for_log(_COMPLETE, times=4)
            with anyio.fail_after(WAIT_SECONDS):
                while len((last := await read_metrics(client))[0]) < 2 or last[1]:
                    await anyio.lowlevel.checkpoint()
        for stream in crowd:
            stream.close()
    assert len(killed) == 2
    assert last[0].isdisjoint(killed)
