"""The services of a process: each is created once, by its type, when it is first needed."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from inspect import signature
from typing import Any, Generic, TypeVar, cast

_Service = TypeVar("_Service")


@dataclass(frozen=True, slots=True)
class Provider(Generic[_Service]):
    """A factory of one service."""

    kind: type[_Service]
    """The type of the service, which is its key in `Services`."""
    make: Callable[["Services"], _Service] | None = None
    """Creates the service. By default the type is called, with the services that have the types of
    its parameters."""
    running: Callable[["Services"], AbstractAsyncContextManager[object]] | None = None
    """Returns a context manager that runs the background work of the service."""


class Services:
    """The services of a process, by type.

    Args:
        providers: The factories.
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
            KeyError: There is no factory for this type.
        """
        if kind not in self._created:
            make = self._providers[kind].make
            self._created[kind] = self._create(kind) if make is None else make(self)
        return cast(_Service, self._created[kind])

    def _create(self, kind: type[_Service]) -> _Service:
        """Return a service whose parameters are other services, found by their annotations."""
        parameters = signature(kind, eval_str=True).parameters.values()
        required = (parameter for parameter in parameters if parameter.default is parameter.empty)
        return kind(**{field.name: self[field.annotation] for field in required})

    @asynccontextmanager
    async def running(self, *kinds: type[Any]) -> AsyncIterator[None]:
        """Create the services of these types, and run their background work until the block ends.

        Without types, all services are created. Background work starts in the order of the
        providers, and stops in reverse order.
        """
        async with AsyncExitStack() as stack:
            for kind, provider in self._providers.items():
                if kinds and kind not in kinds:
                    continue
                self[kind]
                if provider.running is not None:
                    await stack.enter_async_context(provider.running(self))
            yield
