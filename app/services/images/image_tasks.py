"""Decoding tasks, for threads and for the worker.

A task is sent to the worker over a pipe: a line of JSON, and the bytes of the image. The answer has
the same form. Nothing is pickled, since the output of a decoder of hostile bytes is not trusted.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pagefault_dialects.model.resource import ImageRecipe

MAX_LINE_BYTES = 4_096
ImageOutcome: TypeAlias = Literal["made", "same", "nothing", "too-costly", "out-of-memory"]
"""The outcome of a task: a new image, the image itself, no possible image, or no result."""


class TooCostlyError(Exception):
    """Decoding an image takes more passes over its pixels, or more memory, than is allowed.

    Args:
        reason: A sentence for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageTask:
    """An image to be derived from another one, and the limits of decoding it."""

    mime_type: str
    """Its type if its first bytes do not reveal it."""
    recipe: ImageRecipe | None
    """The recipe of the new image; `None` for the smaller form of a page's image."""
    max_pixels: int
    """The maximum of pixels of a decoded image."""
    max_work: int
    """The maximum of pixels processed in all passes."""

    def dump(self, *, size_bytes: int, memory_bytes: int, seconds: float) -> bytes:
        """Return the task as a line for the worker, with its limits."""
        line = asdict(self)
        line |= {"size_bytes": size_bytes, "memory_bytes": memory_bytes, "seconds": seconds}
        return json.dumps(line).encode() + b"\n"


def load_task(line: dict[str, object]) -> ImageTask:
    """Return the task of a line from `ImageTask.dump`, without the limits."""
    recipe = line.pop("recipe")
    if isinstance(recipe, dict):
        recipe = ImageRecipe(**recipe | {"types": tuple(recipe["types"])})
    return ImageTask(recipe=recipe, **line)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """An answer of the worker, followed by the bytes of the new image if there is one."""

    outcome: ImageOutcome
    size_bytes: int = 0
    mime_type: str = ""
    is_first_picture: bool = False
    reason: str = ""

    def dump(self) -> bytes:
        """Return the answer as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"
