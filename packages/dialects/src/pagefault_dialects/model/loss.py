"""The loss account: omissions, changes and additions of a rendering."""

from typing import Annotated

from pydantic import Field

from pagefault_dialects.model.base import WireModel


class LossEntry(WireModel):
    """One omission, change or addition of a rendering.

    A step down the media ladder, an omission, or a synthetic call or answer.
    """

    seq: int | None = None
    """The entry of the session; absent outside of one."""
    pointer: Annotated[str, Field(examples=["/sanitized/parts/1"])]
    """JSON pointer into the record, or the entry of the session's history."""
    from_: Annotated[str, Field(alias="from", examples=["original", "nothing"])]
    to: Annotated[
        str,
        Field(
            examples=[
                "smaller",
                "larger",
                "repaired",
                "caption",
                "placeholder",
                "nothing",
                "call",
                "answer",
            ]
        ),
    ]
    code: Annotated[str, Field(description="Stable.", examples=["too-many-pixels"])]
    reason: Annotated[str, Field(description="For people.")]
    restore: Annotated[
        str, Field(examples=["GET /api/resources/0c8e6cc1ab1f4d34b4a5a0e21f7d6c15/content"])
    ]
    """The way to read the omitted value."""
    from_seq: int | None = None
    """The first entry of a run that one line replaces."""
    to_seq: int | None = None
    """The last entry of the run."""
    count: int | None = None
    """The number of steps and messages in the run."""
