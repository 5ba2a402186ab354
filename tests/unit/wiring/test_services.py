"""Services are created by their types, each once, from the services that their parameters name."""

from dataclasses import dataclass

import pytest

from app.wiring.services import Provider, Services


@dataclass(frozen=True)
class Store:
    name: str


@dataclass(frozen=True)
class Index:
    store: Store
    limit: int = 3


@dataclass(frozen=True)
class Search:
    index: "Index"
    store: Store


def test_service_without_a_factory_is_created_from_the_types_of_its_parameters() -> None:
    services = Services((Provider(Search), Provider(Index)), {Store: Store("a")})
    assert services[Search] == Search(Index(Store("a")), Store("a"))
    assert services[Search].index is services[Index]


def test_factory_takes_precedence() -> None:
    make_index = Provider(Index, lambda services: Index(services[Store], limit=7))
    services = Services((Provider(Search), make_index), {Store: Store("a")})
    assert services[Search].index.limit == 7


def test_parameter_of_an_unknown_type_is_an_error() -> None:
    with pytest.raises(KeyError):
        _ = Services((Provider(Index),), {})[Index]
