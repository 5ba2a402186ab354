"""Tasks to make an image from another one, in a thread or in the worker process.

A task is sent to the worker over a pipe, as a line of JSON and the bytes of the image. The answer
has the same form. `pickle` is not used: the worker decodes hostile bytes, so its output cannot be
trusted.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from pagefault_dialects.model.resource import ImageRecipe

MAX_LINE_BYTES = 4_096
ImageOutcome: TypeAlias = Literal["made", "same", "nothing", "too-costly", "out-of-memory"]
"""The outcome of a task.

`made`: a new image. `same`: the image itself fits. `nothing`: no such image can be made. For all
others, the task was not done.
"""


class TooCostlyError(Exception):
    """Decoding an image needs more passes over its pixels, or more memory, than is allowed.

    Args:
        reason: A sentence for people.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ImageTask:
    """A task to make an image from another one."""

    mime_type: str
    """The type of the source, if its first bytes do not show it."""
    recipe: ImageRecipe | None
    """The recipe of the new image; `None` for the smaller form of a page's image."""
    max_pixels: int
    """The maximum number of pixels of a decoded image."""
    max_work: int
    """The maximum number of pixels that are processed in all passes."""

    def dump(self, *, size_bytes: int, memory_bytes: int, seconds: float) -> bytes:
        """Return the task as a line for the worker, with further limits."""
        line = asdict(self)
        line |= {"size_bytes": size_bytes, "memory_bytes": memory_bytes, "seconds": seconds}
        return json.dumps(line).encode() + b"\n"


def load_task(line: dict[str, object]) -> ImageTask:
    """Return the task in a line of `ImageTask.dump`, from which the further limits were removed."""
    recipe = line.pop("recipe")
    if isinstance(recipe, dict):
        recipe = ImageRecipe(**recipe | {"types": tuple(recipe["types"])})
    return ImageTask(recipe=recipe, **line)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """An answer of the worker. If there is a new image, its bytes follow."""

    outcome: ImageOutcome
    size_bytes: int = 0
    mime_type: str = ""
    is_first_picture: bool = False
    reason: str = ""

    def dump(self) -> bytes:
        """Return the answer as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"
