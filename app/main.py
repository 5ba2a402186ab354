"""Puts the application together: lifespan, middleware, error handlers, routers."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from app.config.setting_values import host_names
from app.config.settings import Settings
from app.features import Feature, find_features, open_services
from app.http import tus
from app.http.browser_guard import BrowserGuard
from app.http.content_host import ContentHost
from app.http.docs_page import get_api_page
from app.http.openapi import install_openapi
from app.http.problems import install_problem_handlers
from app.http.request_context import RequestContextMiddleware, is_quiet
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


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the service as an ASGI application; its lifespan opens stores and services.

    `app.server.uvicorn_config.served_app` configures the process of a server.

    Args:
        settings: Read from the environment if not given.
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
            # Requests read it from `request.state`.
            yield {"services": services}
        flush_logs()

    app = FastAPI(
        title="Pagefault",
        version=VERSION,
        summary="The media memory of AI agents.",
        description="Takes in whatever a tool returned, keeps every medium once, and gives back "
        "one clean, typed, small record, today and after a restart, byte for byte the same.",
        lifespan=lifespan,
        # Spans of requests; `app.telemetry` exports them, without paths and queries, and logs and
        # counts requests itself.
        telemetry={
            "tracing": is_traced,
            "metrics": False,
            "logs": False,
            "operation_spans": False,
            "auto_configure": False,
            "exclude": is_quiet,
        },
        redirect_slashes=False,
        # Both load scripts of another host.
        docs_url=None,
        redoc_url=None,
    )
    install_problem_handlers(app)
    install_openapi(app)
    _add_routes(app, settings, features)
    _give_content_its_host(app, settings)
    _add_middleware(app, settings)
    for feature in features:
        # Around all that refuses.
        for middleware in feature.load(feature.middleware):
            app.add_middleware(middleware)
    return app


def _add_routes(app: FastAPI, settings: Settings, features: Iterable[Feature]) -> None:
    app.add_route("/docs/plain", get_api_page, methods=["GET"], include_in_schema=False)
    routers = [router for feature in features for router in feature.load(feature.routers)]
    routes = [route for router in routers for route in router.routes]
    viewing = viewer.viewer_router(settings.viewer_dir, settings.content_url)
    # Included, they would be made anew for each application, while its first request waits.
    app.router.routes += [*routes, *viewing.routes, *page_levels.odd_ids_router.routes]


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    if origins := _calling_origins(settings):
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
            allow_headers=["*"],
            expose_headers=EXPOSED_HEADERS,
            max_age=3600,
        )
    # Around the CORS middleware: a preflight by a foreign host name is not answered either.
    app.add_middleware(
        BrowserGuard,
        is_open=settings.auth == "none",
        hosts=settings.answered_hosts,
        own_origins=() if settings.origin is None else (settings.origin,),
        named_origins=settings.cors_origins,
    )
    limits = settings.limits
    app.add_middleware(
        RequestContextMiddleware,
        max_at_once=limits.requests_at_once,
        # No more than can be connected: those who go away while they wait are still counted.
        max_waiting=limits.connections_at_once,
    )
    app.add_middleware(tus.TusMiddleware)


def _give_content_its_host(app: FastAPI, settings: Settings) -> None:
    if settings.content_url is None:
        return
    app.router.middleware_stack = ContentHost(
        app.router.middleware_stack,
        content=resources.CONTENT_ROUTE,
        url=settings.content_url,
        hosts=host_names(settings.content_url),
        resource_policy=settings.link_resource_policy,
    )


def _calling_origins(settings: Settings) -> tuple[str, ...]:
    """Return the origins whose pages may call; to the content URL, the service's own is foreign."""
    if settings.content_url is None or settings.origin is None:
        return settings.cors_origins
    return (*settings.cors_origins, settings.origin)
