"""The account of what a rendering left out, changed or invented."""

from typing import Annotated

from pydantic import Field

from pagefault_dialects.model.base import WireModel


class LossEntry(WireModel):
    """One thing that a rendering left out, changed or invented.

    A step down the ladder, an omission, or a call or an answer that nobody recorded.
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
    """How to get at what was left out."""
    from_seq: int | None = None
    """Of a run of entries with one line in its place: the first of them."""
    to_seq: int | None = None
    """The last entry of such a run."""
    count: int | None = None
    """How many steps and messages such a run has."""
