"""`/healthz`, `/readyz`, `/metrics` and `/api/version`: the state of the process, for operators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response

from app.errors import StoreFullError, StoreMisconfiguredError, StoreUnavailableError
from app.http.api_route import ApiRoute
from app.http.dependencies import get_project, service
from app.http.openapi_operations import PLAIN_TEXT
from app.http.problem_types import describe_errors
from app.services.events.broker import EventBroker
from app.stores.blobs.store import BlobStore
from app.stores.records.records import Records
from app.telemetry.metrics import Metrics
from app.version import VERSION
from app.wire.health import Health, Readiness, Version

router = APIRouter(tags=["operations"])

RecordsDep = Annotated[Records, Depends(service(Records))]
BlobStoreDep = Annotated[BlobStore, Depends(service(BlobStore))]
BrokerDep = Annotated[EventBroker, Depends(service(EventBroker))]
MetricsDep = Annotated[Metrics, Depends(service(Metrics))]


@router.get("/healthz")
async def get_health() -> Health:
    """Check that the process responds to requests."""
    return Health(status="ok")


@router.get(
    "/readyz",
    responses=describe_errors(StoreUnavailableError, StoreMisconfiguredError, StoreFullError),
)
async def get_readiness(records: RecordsDep, blobs: BlobStoreDep, broker: BrokerDep) -> Readiness:
    """Check that both stores respond: 503 if one does not, 507 if there is no space for a file.

    This runs a query and writes a small file, or reads from a bucket.
    """
    await records.check()
    await blobs.check()
    events = "ok" if broker.is_notified else "delayed"
    return Readiness(status="ready", database="ok", blobs="ok", events=events)


# The version is public in `/openapi.json`. This route needs a key nevertheless, because tests check
# that all routes under `/api/` need one.
async def get_version() -> Version:
    """Return the version of the service."""
    return Version(name="pagefault", version=VERSION)


router.add_api_route(
    "/api/version",
    get_version,
    dependencies=[Depends(get_project)],
    route_class_override=ApiRoute,
)


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": PLAIN_TEXT}},
)
async def get_metrics(metrics: MetricsDep) -> Response:
    """Return metrics in Prometheus' text format."""
    return Response(metrics.exposition(), media_type="text/plain; version=0.0.4; charset=utf-8")
