"""Features: every route, service and record of the service belongs to one of them."""

import sys
from importlib import import_module
from pkgutil import iter_modules, resolve_name

import pytest
from typer.main import get_group

import app.routers
import app.stores.records
import app.wiring
from app.features import FEATURES, find_commands, find_features, find_released_features
from app.stores.records.unit_of_work import Repository
from app.wiring.services import Provider
from app.wiring.startup_errors import SettingError

FOUND = find_features()
NAMES = [
    name
    for feature in FOUND
    for names in (
        feature.routers,
        feature.services,
        feature.repositories,
        feature.middleware,
    )
    for name in names
]


def test_every_name_of_a_feature_leads_to_something_and_stands_once() -> None:
    assert len(NAMES) == len(set(NAMES))
    commands = {name for feature in FOUND for name in feature.commands.values()}
    assert all(resolve_name(name) is not None for name in {*NAMES, *commands})


def test_every_module_of_routes_and_of_services_belongs_to_a_feature() -> None:
    routers = {f"app.routers.{module.name}:router" for module in iter_modules(app.routers.__path__)}
    services = {
        f"app.wiring.{module.name}:{name}"
        for module in iter_modules(app.wiring.__path__)
        for name, value in vars(import_module(f"app.wiring.{module.name}")).items()
        if isinstance(value, tuple) and all(isinstance(item, Provider) for item in value)
    }
    # The viewer is made by the settings, and takes what no other route does.
    assert routers | services - {"app.routers.viewer:router"} <= {
        *NAMES,
        "app.routers.viewer:router",
    }


def test_every_class_of_records_belongs_to_a_feature() -> None:
    modules = [module.name for module in iter_modules(app.stores.records.__path__)]
    found = {
        f"{kind.__module__}:{name}"
        for module in map(import_module, (f"app.stores.records.{name}" for name in modules))
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, Repository) and name.endswith("Records")
    }
    assert found <= set(NAMES)


def test_no_two_features_have_a_name_or_a_service_of_one_type() -> None:
    providers: list[Provider[object]] = [
        provider
        for feature in FOUND
        for name in feature.services
        for provider in resolve_name(name)
    ]
    kinds = [provider.kind for provider in providers]
    assert len(kinds) == len(set(kinds))
    assert [feature.name for feature in FEATURES] == list(
        dict.fromkeys(feature.name for feature in FEATURES)
    )


def test_commands_are_those_of_all_features_and_in_the_applications_that_these_name() -> None:
    named = {name: where for feature in FOUND for name, where in feature.commands.items()}
    assert find_commands() == named
    for where in set(named.values()):
        group = get_group(resolve_name(where))
        assert {name for name in named if named[name] == where} == (
            {group.name} if group.name else group.commands.keys()
        )


def test_feature_whose_packages_are_not_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (mcp,) = (feature.name for feature in FOUND if "mcp" in feature.requires)
    # An import fails then as if the package were not there.
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert [feature.name for feature in find_features()] == [
        feature.name for feature in FOUND if feature.name != mcp
    ]
    assert find_released_features()[mcp].commands


def test_distribution_that_adds_no_feature_is_refused_by_its_name() -> None:
    for name in ("nowhere-to-be-found", "pydantic"):
        with pytest.raises(SettingError, match=f"PAGEFAULT_FEATURES names {name}: "):
            find_features([name])
