"""A draft of a long string that keeps its bytes in memory."""

import hashlib


class MemoryDraft:
    """The bytes of a draft, and the sizes that were read at once."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.is_released = False
        self.read_sizes: list[int] = []

    @property
    def size_bytes(self) -> int:
        return len(self.data)

    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()

    def append(self, data: bytes) -> None:
        self.data += data

    def release(self) -> None:
        self.is_released = True

    def read(self, start: int, size_bytes: int) -> bytes:
        self.read_sizes.append(size_bytes)
        return bytes(self.data[start : start + size_bytes])
