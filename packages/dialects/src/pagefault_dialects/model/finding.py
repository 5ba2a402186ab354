"""One fault of a history, as the doctor names it."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypeAliasType

from pagefault_dialects.model.base import WireModel

FindingValue = TypeAliasType("FindingValue", int | str)


class Finding(WireModel):
    """One thing that is wrong with a history."""

    seq: int | None = None
    """The entry of the session; absent outside of one."""
    pointer: Annotated[str, Field(examples=["/messages/3/content/1"])]
    """JSON pointer into what was sent, or into the entry of the session."""
    rule: Annotated[str, Field(examples=["too-many-pixels"])]
    """Stable; docs/doctor.md has all."""
    call_id: str | None = None
    """The id of the call, if the rule is about a call or a result."""
    demands: str
    """What the rule demands, for people."""
    limit: FindingValue | None = None
    """What is allowed, where that is a number or a list."""
    actual: FindingValue | None = None
    """What was found."""
    fix: str
    """What the healed history has instead."""
    source: str
    """Who demands it."""
