"""The process that makes a poster: what it may use while it decodes."""

import os
from pathlib import Path

import anyio.to_thread
import pytest

from app.services.images.child_process import start_child
from tests.kit.child_processes import ChildProcess

pytestmark = pytest.mark.anyio
MIB = 1024 * 1024
MAX_BYTES = 512 * MIB


@pytest.mark.promise(
    "security.md#decoders",
    "A process that makes a poster has little memory, a low priority and no environment",
    kept_by="app/services/images/poster_process.py",
    tried="reserved more and less than the 512 MiB of address space that it has at most",
)
@pytest.mark.parametrize("reserved_bytes", [16 * MIB, 1024 * MIB])
async def test_process_of_a_poster_is_bounded_before_it_opens_the_video(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reserved_bytes: int
) -> None:
    monkeypatch.setenv("PAGEFAULT_SIGNING_KEYS", "k1:secret")
    video = tmp_path / "video"
    os.mkfifo(video)
    child = await start_child(
        "app.services.images.poster_process", "mov", str(video), str(reserved_bytes), "60"
    )
    process = ChildProcess(child.process.pid)
    try:
        # Opens when the process opens it as well.
        with await anyio.to_thread.run_sync(video.open, "wb"):
            assert process.environment == b""
            assert process.niceness == os.nice(0) + 5
            assert process.address_space <= MAX_BYTES
            assert (process.address_space == MAX_BYTES) == (reserved_bytes > MAX_BYTES)
    finally:
        await child.end()
