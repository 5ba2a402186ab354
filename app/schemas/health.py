"""What the service says about itself."""

from typing import Literal

from app.models.base import WireModel


class Health(WireModel):
    """The process answers."""

    status: Literal["ok"]


class Readiness(WireModel):
    """Both stores answer."""

    status: Literal["ready"]
    database: Literal["ok"]
    blobs: Literal["ok"]
