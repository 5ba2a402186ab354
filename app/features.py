"""The features of the service, each with its routes, services, repositories and commands.

A feature names its objects in the form `module:object`, like an entry point. An object is imported
when it is needed: a command needs no routes, and `--help` needs no services. Other distributions
add features with entry points.
"""

import os
import re
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from configparser import ConfigParser
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

from app.wiring.startup_errors import SettingError

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.wiring.services import Services

ENTRY_POINT_GROUP = "pagefault.features"
"""The group of entry points with which other distributions add a `Feature`."""
_RELEASED_METADATA = re.compile(r"pagefault(?:_mcp|_bundles|_doctor)?-[^-]+\.dist-info")
"""Matches the metadata directories of the distributions that are released together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A part of the service. The fields are names of the form `module:object`."""

    name: str
    routers: Sequence[str] = ()
    """Routers, in the order in which routes are matched."""
    services: Sequence[str] = ()
    """Sequences of `Provider`, which create the services."""
    repositories: Sequence[str] = ()
    """Repositories of the records. Each repository belongs to one feature."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """The Typer application of each command."""
    middleware: Sequence[str] = ()
    """ASGI middleware that wraps the middleware of the service, the innermost first."""
    requires: Sequence[str] = ()
    """Optional packages that the feature needs. If one is not installed, the feature is omitted."""


FEATURES = (
    Feature(
        name="shared",
        services=("app.wiring.shared_services:SERVICES", "app.wiring.ingest_services:MEDIA"),
        repositories=("app.stores.records.idempotency:IdempotencyRecords",),
    ),
    Feature(name="access", commands={"keys": "app.cli.commands:keys"}),
    Feature(
        name="results",
        routers=("app.routers.tool_results:router",),
        services=("app.wiring.ingest_services:RESULTS",),
        repositories=("app.stores.records.tool_results:ToolResultRecords",),
        commands={"ingest": "app.cli.commands:commands"},
    ),
    Feature(
        name="resources",
        routers=(
            "app.routers.resources:router",
            "app.routers.blobs:router",
            "app.routers.aliases:router",
        ),
        services=("app.wiring.feature_services:RESOURCES",),
        repositories=(
            "app.stores.records.resources:ResourceRecords",
            "app.stores.records.aliases:AliasRecords",
            "app.stores.records.blob_guard:BlobGuard",
            "app.stores.records.swept_blobs:SweptBlobRecords",
            "app.stores.records.swept_blobs:BlobReferenceRecords",
            "app.stores.records.stored_blobs:StoredBlobRecords",
            "app.stores.records.blob_counts:BlobCountRecords",
        ),
    ),
    Feature(
        name="pages",
        routers=(
            "app.routers.pages:router",
            "app.routers.page_levels:router",
            "app.routers.page_downloads:router",
            "app.routers.page_representations:router",
        ),
        services=("app.wiring.feature_services:PAGES",),
        repositories=(
            "app.stores.records.pages:PageRecords",
            "app.stores.records.pages:PageLevelRecords",
            "app.stores.records.page_accesses:PageAccessRecords",
            "app.stores.records.pinned_pages:PinnedPageRecords",
        ),
        commands={"page": "app.cli.commands:pages"},
    ),
    Feature(
        name="search",
        routers=("app.routers.search:router",),
        services=("app.wiring.feature_services:SEARCH",),
        repositories=("app.stores.records.search_entries:SearchEntryRecords",),
        commands={"search": "app.cli.commands:commands"},
    ),
    Feature(
        name="sessions",
        routers=(
            "app.routers.session_lists:router",
            "app.routers.sessions:router",
            "app.routers.messages:router",
            "app.routers.interactions:router",
        ),
        services=("app.wiring.ingest_services:SESSIONS",),
        repositories=(
            "app.stores.records.sessions:SessionRecords",
            "app.stores.records.history:SessionHistory",
            "app.stores.records.history:MessageRecords",
            "app.stores.records.answered_calls:AnsweredCallRecords",
            "app.stores.records.interactions:InteractionRecords",
            "app.stores.records.session_resources:SessionResourceRecords",
            "app.stores.records.session_copies:SessionCopyRecords",
            "app.stores.records.session_prompts:SessionPromptRecords",
        ),
    ),
    Feature(
        name="renders",
        routers=("app.routers.renders:router",),
        services=("app.wiring.feature_services:RENDERS",),
        repositories=(
            "app.stores.records.frontiers:FrontierRecords",
            "app.stores.records.frontier_moves:FrontierMoveRecords",
            "app.stores.records.derived_images:DerivedImageRecords",
        ),
    ),
    Feature(
        name="tools",
        routers=(
            "app.routers.tools:router",
            "app.routers.references:router",
            "app.routers.turns:router",
            "app.routers.conversations:router",
            "app.routers.responses:router",
        ),
        services=("app.wiring.feature_services:TOOLS",),
    ),
    Feature(
        name="uploads",
        routers=("app.routers.uploads:router",),
        services=("app.wiring.feature_services:UPLOADS",),
        repositories=("app.stores.records.uploads:UploadRecords",),
    ),
    Feature(
        name="events",
        routers=("app.routers.events:router",),
        services=("app.wiring.event_services:SERVICES",),
        repositories=("app.stores.records.events:EventRecords",),
        commands={"tail": "app.cli.commands:commands"},
    ),
    Feature(
        name="operations",
        routers=("app.routers.operations:router",),
        services=("app.wiring.maintenance_services:SERVICES",),
        repositories=("app.stores.records.project_totals:ProjectTotalRecords",),
        commands=dict.fromkeys(
            ("serve", "migrate", "status", "gc", "fsck", "stats"), "app.cli.commands:commands"
        ),
    ),
)
"""The features of the service itself, in the order of the OpenAPI document."""


def find_features(distributions: Iterable[str] = ()) -> tuple[Feature, ...]:
    """Return the features of the service, of the release, and of other distributions.

    If a package that a feature requires is not installed, the feature is omitted.

    Args:
        distributions: The names of other distributions with features.

    Raises:
        SettingError: A distribution is not installed, or has no features.
    """
    features = {feature.name: feature for feature in FEATURES}
    features |= find_released_features()
    for name in distributions:
        added = _load_features(name)
        if not added:
            raise SettingError(
                f"PAGEFAULT_FEATURES names {name}: no distribution of this name is installed that "
                f"has entry points in the group {ENTRY_POINT_GROUP}."
            )
        features |= added
    return tuple(feature for feature in features.values() if all(map(find_spec, feature.requires)))


def find_released_features() -> dict[str, Feature]:
    """Return the features of the distributions that are released together, by name.

    Every command calls this function. It reads the files of entry points directly, because
    importing `importlib.metadata` would take 13 ms and 2.6 MiB in each proxy that a host starts.
    """
    entries = ConfigParser(delimiters="=")
    for folder in reversed(sys.path):
        with suppress(OSError):
            names = filter(_RELEASED_METADATA.fullmatch, os.listdir(folder or "."))
            entries.read(Path(folder, name, "entry_points.txt") for name in names)
    if not entries.has_section(ENTRY_POINT_GROUP):
        return {}
    return {name: resolve_name(entry) for name, entry in entries.items(ENTRY_POINT_GROUP)}


def find_commands() -> dict[str, str]:
    """Return the Typer application of each command as `module:object`, in the order of the help.

    The commands of the feature `operations` come first, because one of them starts the service.
    """
    features = sorted(FEATURES, key=lambda feature: feature.name != "operations")
    features += find_released_features().values()
    return {command: app for feature in features for command, app in feature.commands.items()}


def _load_features(distribution_name: str) -> dict[str, Feature]:
    """Return the features of a distribution by name; empty if it is not installed."""
    from importlib.metadata import (  # noqa: PLC0415 - most commands do not need it
        PackageNotFoundError,
        distribution,
    )

    try:
        entries = distribution(distribution_name).entry_points.select(group=ENTRY_POINT_GROUP)
    except PackageNotFoundError:
        return {}
    return {entry.name: entry.load() for entry in entries}


@asynccontextmanager
async def open_services(
    settings: "Settings", features: Iterable[Feature] = FEATURES
) -> AsyncIterator["Services"]:
    """Open both stores, and run the services of the features until the block ends.

    Raises:
        DataDirectoryError: The data directory cannot be created.
        OutdatedDatabaseError: The database of a server has to be migrated first.
        MissingSigningKeysError: The database is a server and no signing keys are set.
        SettingError: A setting is invalid.
        StoreUnavailableError: A store does not respond, or refuses the service.
    """
    from app.wiring.open_stores import open_stores  # noqa: PLC0415 - commands need no stores
    from app.wiring.services import Services  # noqa: PLC0415

    providers = [
        provider
        for feature in features
        for name in feature.services
        for provider in resolve_name(name)
    ]
    async with open_stores(settings) as values:
        services = Services(providers, values)
        async with services.lifespan():
            yield services
