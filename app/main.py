"""Create the application: lifespan, middleware, exception handlers, routers."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pkgutil import resolve_name

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from app.config.setting_values import list_host_names
from app.config.settings import Settings
from app.features import Feature, find_features, open_services
from app.http import tus
from app.http.browser_guard import BrowserGuard
from app.http.content_host import ContentHost
from app.http.docs_page import get_api_page
from app.http.openapi import install_openapi
from app.http.problems import install_problem_handlers
from app.http.request_context import RequestContextMiddleware, is_probe
from app.routers import page_levels, resources, viewer
from app.telemetry.exports import export_metrics, export_traces
from app.telemetry.logs import configure_logging, flush_logs
from app.telemetry.metrics import Metrics
from app.telemetry.signals import exporter_names
from app.version import VERSION
from app.wiring.services import Services

EXPOSED_HEADERS = (
    "ETag",
    "Accept-Ranges",
    "Content-Range",
    "Content-Disposition",
    "Repr-Digest",
    "Location",
    "Link",
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
    "X-Request-ID",
    *tus.HEADERS,
)
"""The response headers that web pages of other origins may read (CORS)."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Create the service as an ASGI application. Its lifespan opens the stores and the services.

    `app.server.uvicorn_config.served_app` calls this in the process of a server.

    Args:
        settings: The settings; by default they are read from the environment.
    """
    settings = settings or Settings()
    features = find_features(settings.features)
    is_traced = bool(exporter_names("traces"))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Services]]:
        configure_logging(settings.log_format, settings.log_level, has_traces=is_traced)
        async with (
            export_traces(),
            open_services(settings, features) as services,
            export_metrics(services[Metrics]),
        ):
            yield {"services": services}
        flush_logs()

    app = FastAPI(
        title="Pagefault",
        version=VERSION,
        summary="The media memory of AI agents.",
        description="Takes in whatever a tool returned, keeps every medium once, and gives back "
        "one clean, typed, small record, today and after a restart, byte for byte the same.",
        lifespan=lifespan,
        # FastAPI only creates the spans of requests. `app.telemetry` exports the spans, without
        # paths and queries; it also logs and counts requests.
        telemetry={
            "tracing": is_traced,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
            "exclude": is_probe,
        },
        redirect_slashes=False,
        # Both would load scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    install_problem_handlers(app)
    install_openapi(app)
    _add_routes(app, settings, features)
    _add_content_host(app, settings)
    _add_middleware(app, settings)
    for feature in features:
        # Middleware that is added later wraps the middleware that was added before.
        for name in feature.middleware:
            app.add_middleware(resolve_name(name))
    return app


def _add_routes(app: FastAPI, settings: Settings, features: Iterable[Feature]) -> None:
    app.add_route("/docs/plain", get_api_page, methods=["GET"], include_in_schema=False)
    routers = [resolve_name(name) for feature in features for name in feature.routers]
    routers.append(viewer.create_viewer_router(settings.viewer_dir, settings.content_url))
    # The path of this router matches some paths of other routers, so it is the last one.
    routers.append(page_levels.odd_ids_router)
    # `include_router` would create the routes again for each application, in its first request.
    app.router.routes += [route for router in routers for route in router.routes]


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    cors_origins = settings.cors_origins
    if settings.content_url is not None and settings.origin is not None:
        # The viewer loads content from the host of the content URL, which is another origin.
        cors_origins = (*cors_origins, settings.origin)
    if cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=cors_origins,
            allow_methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
            allow_headers=["*"],
            expose_headers=EXPOSED_HEADERS,
            max_age=3600,
        )
    # The guard wraps the CORS middleware, so preflights with a foreign host are refused as well.
    app.add_middleware(
        BrowserGuard,
        needs_no_key=settings.auth == "none",
        hosts=settings.accepted_hosts,
        own_origins=() if settings.origin is None else (settings.origin,),
        allowed_origins=settings.cors_origins,
    )
    limits = settings.limits
    app.add_middleware(
        RequestContextMiddleware,
        max_at_once=limits.requests_at_once,
        # A request waits even after its client has disconnected, so the number of connections alone
        # would not limit the number of waiting requests.
        max_waiting=limits.connections_at_once,
    )
    app.add_middleware(tus.TusMiddleware)


def _add_content_host(app: FastAPI, settings: Settings) -> None:
    """If a content URL is set, serve content on its host, and nothing else there."""
    if settings.content_url is None:
        return
    app.router.middleware_stack = ContentHost(
        app.router.middleware_stack,
        content=resources.CONTENT_ROUTE,
        url=settings.content_url,
        hosts=list_host_names(settings.content_url),
        resource_policy=settings.link_resource_policy,
    )
