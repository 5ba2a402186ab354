"""A finding: one fault of a history, reported by the doctor."""

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
    """JSON pointer into the request, or into the entry of the session."""
    rule: Annotated[str, Field(examples=["too-many-pixels"])]
    """Stable id of the rule; docs/doctor.md lists all."""
    call_id: str | None = None
    """The id of the call, if the rule is about a call or a result."""
    demands: str
    """The demand of the rule, for people."""
    limit: FindingValue | None = None
    """The allowed value, if it is a number or a list."""
    actual: FindingValue | None = None
    """The value found."""
    fix: str
    """The replacement in the repaired history."""
    source: str
    """The source of the rule."""
