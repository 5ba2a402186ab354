"""The features of the service: for each, its routes, services, records and commands.

Names have the form `module:object`, like entry points, and are loaded when they are needed: a
command needs no routes, and `--help` needs no services. Other distributions add features by entry
points.
"""

import os
import re
import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from configparser import ConfigParser
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from app.wiring.startup_errors import SettingError

if TYPE_CHECKING:
    from app.config.settings import Settings
    from app.wiring.services import Services

GROUP = "pagefault.features"
"""The group of entry points; each leads to a `Feature`."""
_RELEASED = re.compile(r"pagefault(?:_mcp|_bundles|_doctor)?-[^-]+\.dist-info")
"""The folders of metadata of the distributions of the release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A part of the service that can be read by itself, and left out."""

    name: str
    routers: Sequence[str] = ()
    """Routers of FastAPI, in the order in which routes are matched."""
    services: Sequence[str] = ()
    """Each is a sequence of `Provider`."""
    repositories: Sequence[str] = ()
    """Classes of records that no other feature defines."""
    commands: Mapping[str, str] = field(default_factory=dict)
    """For each command, the application of Typer that has it."""
    middleware: Sequence[str] = ()
    """ASGI middleware around that of the service, the innermost first."""
    requires: Sequence[str] = ()
    """Packages of an extra. The service leaves the feature out where one is not installed."""

    def load(self, names: Sequence[str]) -> Iterator[Any]:
        """Yield the objects of some names."""
        yield from map(resolve_name, names)


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
    """Return the features of the service, and those that are added to it.

    Those that require packages which are not installed are left out.

    Args:
        distributions: Those whose features are added, beside the ones of the release.

    Raises:
        SettingError: One of them is not installed, or adds no feature.
    """
    found = {feature.name: feature for feature in FEATURES}
    found |= released_features()
    for name in distributions:
        added = _added_features(name)
        if not added:
            raise SettingError(
                f"PAGEFAULT_FEATURES names {name}: no distribution of this name is installed that "
                f"has entry points in the group {GROUP}."
            )
        found |= added
    return tuple(feature for feature in found.values() if all(map(find_spec, feature.requires)))


def released_features() -> dict[str, Feature]:
    """Return the features that distributions of the release add, by their names.

    Every command looks for them. `importlib.metadata` would do the same, and takes 13 ms and
    2.6 MiB of each proxy that a host starts.
    """
    entries = ConfigParser(delimiters="=")
    for folder in reversed(sys.path):
        with suppress(OSError):
            names = filter(_RELEASED.fullmatch, os.listdir(folder or "."))
            entries.read(Path(folder, name, "entry_points.txt") for name in names)
    if not entries.has_section(GROUP):
        return {}
    return {name: resolve_name(entry) for name, entry in entries.items(GROUP)}


def find_commands() -> dict[str, str]:
    """Return the commands of the service and of the release, and where each of them is.

    Those of `operations` come first, as one of them starts the service.
    """
    features = sorted(FEATURES, key=lambda feature: feature.name != "operations")
    features += released_features().values()
    return {name: where for feature in features for name, where in feature.commands.items()}


def _added_features(name: str) -> dict[str, Feature]:
    from importlib.metadata import (  # noqa: PLC0415 - only where features are looked for
        PackageNotFoundError,
        distribution,
    )

    try:
        entries = distribution(name).entry_points.select(group=GROUP)
    except PackageNotFoundError:
        return {}
    return {entry.name: entry.load() for entry in entries}


@asynccontextmanager
async def open_services(
    settings: "Settings", features: Iterable[Feature] = FEATURES
) -> AsyncIterator["Services"]:
    """Open both stores, and the services of features over them, for the length of the block.

    Raises:
        DataDirectoryError: The data directory cannot be made.
        OutdatedDatabaseError: A server's database has to be migrated first.
        MissingSigningKeysError: A server's database, and no keys to sign links with.
        SettingError: A setting makes no sense.
        StoreUnavailableError: A store does not answer, or refuses the service.
    """
    from app.wiring.open_stores import open_stores  # noqa: PLC0415 - commands need no stores
    from app.wiring.services import Services  # noqa: PLC0415

    providers = [
        provider
        for feature in features
        for provided in feature.load(feature.services)
        for provider in provided
    ]
    async with open_stores(settings) as values:
        services = Services(providers, values)
        async with services.running():
            yield services
