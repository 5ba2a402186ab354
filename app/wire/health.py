"""Shapes of the routes for health, readiness and version."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from app.version import VERSION
from pagefault_dialects.model.base import WireModel


class Health(WireModel):
    """The process responds to requests."""

    status: Literal["ok"]


class Readiness(WireModel):
    """Both stores respond to requests."""

    status: Literal["ready"]
    database: Literal["ok"]
    blobs: Literal["ok"]
    events: Annotated[
        Literal["ok", "delayed"],
        Field(
            description="`delayed`: events of other processes are up to a second late, because "
            "notifications do not arrive; see `PAGEFAULT_DB__LISTEN_URL`."
        ),
    ]


class Version(WireModel):
    """The name and version of the service."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "pagefault", "version": VERSION}]}
    )

    name: Literal["pagefault"]
    version: Annotated[str, Field(description="The version of the service, `X.Y.Z`.")]
