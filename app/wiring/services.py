"""The services of a process: each is made once, by its type, when it is first needed."""

from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

_Service = TypeVar("_Service")


@dataclass(frozen=True, slots=True)
class Provider(Generic[_Service]):
    """How a service is made."""

    kind: type[_Service]
    """Its type, by which others ask for it."""
    make: Callable[["Services"], _Service]
    """Makes it from other services."""
    running: Callable[["Services"], AbstractAsyncContextManager[object]] | None = None
    """Runs what has to run beside it as long as the process serves, if anything has."""


class Services:
    """The services of a process, by type.

    Args:
        providers: Make the services.
        values: What is there already, by type: settings and open stores.
    """

    def __init__(
        self, providers: Iterable[Provider[Any]], values: Mapping[type[Any], object]
    ) -> None:
        self._providers = {provider.kind: provider for provider in providers}
        self._made = dict(values)

    def __getitem__(self, kind: type[_Service]) -> _Service:
        """Return the service of a type, and make it if it is not there yet.

        Raises:
            KeyError: No feature that is open has one.
        """
        if kind not in self._made:
            self._made[kind] = self._providers[kind].make(self)
        return cast(_Service, self._made[kind])

    @asynccontextmanager
    async def running(self, *kinds: type[Any]) -> AsyncIterator[None]:
        """Make the services of some types, by default of all, and run what has to run beside them.

        In the order of their providers; in the reverse one it ends, with the block.
        """
        async with AsyncExitStack() as stack:
            for kind, provider in self._providers.items():
                if kinds and kind not in kinds:
                    continue
                self[kind]
                if provider.running is not None:
                    await stack.enter_async_context(provider.running(self))
            yield
