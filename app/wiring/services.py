"""The container of the services of a process. It creates each service when it is first used."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, Generic, TypeVar, cast

_Service = TypeVar("_Service")


@dataclass(frozen=True, slots=True)
class Provider(Generic[_Service]):
    """Creates one service, and runs its background work."""

    kind: type[_Service]
    """The type of the service, which is its key in `Services`."""
    make: Callable[["Services"], _Service] | None = None
    """Creates the service. By default, the type is called; the argument for each parameter is the
    service with the type in its annotation."""
    lifespan: Callable[["Services"], AbstractAsyncContextManager[object]] | None = None
    """Returns a context manager that runs the background work of the service during its block."""


class Services:
    """The services of a process, by type.

    Args:
        providers: The providers, in the order in which background work starts.
        values: Objects that exist already, by type: settings and open stores.
    """

    def __init__(
        self, providers: Iterable[Provider[Any]], values: Mapping[type[Any], object]
    ) -> None:
        self._providers = {provider.kind: provider for provider in providers}
        self._created = dict(values)

    def __getitem__(self, kind: type[_Service]) -> _Service:
        """Return the service of a type. The first call creates it.

        Raises:
            KeyError: There is no provider for this type.
        """
        if kind not in self._created:
            make = self._providers[kind].make
            self._created[kind] = self._create(kind) if make is None else make(self)
        return cast(_Service, self._created[kind])

    def _create(self, kind: type[_Service]) -> _Service:
        """Create a service with other services as its arguments, found by their annotations."""
        parameters = signature(kind, eval_str=True).parameters.values()
        required = [parameter for parameter in parameters if parameter.default is parameter.empty]
        return kind(**{parameter.name: self[parameter.annotation] for parameter in required})

    @asynccontextmanager
    async def lifespan(self, *kinds: type[Any]) -> AsyncIterator[None]:
        """Create services, and run their background work during the block.

        The background work starts in the order of the providers, and stops in reverse order.

        Args:
            kinds: The types of the services; without types, all services.
        """
        async with AsyncExitStack() as stack:
            for kind, provider in self._providers.items():
                if kinds and kind not in kinds:
                    continue
                # This creates the service.
                self[kind]
                if provider.lifespan is not None:
                    await stack.enter_async_context(provider.lifespan(self))
            yield
