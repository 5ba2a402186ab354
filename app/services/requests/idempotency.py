"""Idempotency keys: a repeated write returns the result of the first write.

Before the work of a request starts, a transaction *claims* its key. So a second request with the
key learns that the first request is in flight. The transaction that stores the result of the work
also records the id of the result with the key.

If a claim has no result after 15 minutes, its request is considered dead, and the next request with
the key takes over the claim. If the first request tries to commit after that, the id of its claim
is not the stored one any more. Its transaction is rolled back, so nothing is stored twice.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio

from app.errors import ConflictError
from app.models.identity import new_id
from app.services.concurrency.background import run_to_completion
from app.services.requests.request_identity import RequestIdentity, explain_comparison
from app.stores.records.idempotency import KEPT, Claim, IdempotencyRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import InvalidPayloadError, PagefaultError

ABANDONED_AFTER = timedelta(minutes=15)
"""The age at which a claim without a result is taken over. Its process was most likely killed."""


@dataclass(frozen=True, slots=True)
class IdempotentCall:
    """A request with an idempotency key."""

    project_id: str
    route: str
    """The method and the path template of the request. Keys of different routes are unrelated."""
    key: str
    identity: RequestIdentity
    """The digest of the body, by which another request with the same key is detected."""
    claim_id: str = field(default_factory=new_id)
    """An id that distinguishes this request from others with the same key."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Claims keys for requests, and stores the ids of their results for 24 hours."""

    records: Records

    @asynccontextmanager
    async def claim(self, call: IdempotentCall, now: datetime) -> AsyncIterator[str | None]:
        """Claim a key. The caller does the work in the block.

        If the block raises an error before the result is recorded, the key is released, unless
        another request has taken it over.

        Args:
            call: The request.
            now: The current time.

        Yields:
            The id of the result of an earlier, equal request; the caller then returns this result.
            `None` if there is no result; the caller then does the work, and calls `record_answer`
            in the transaction that stores the result.

        Raises:
            InvalidPayloadError: The key was used for another request.
            ConflictError: An equal request is in flight.
        """
        try:
            answer_id = await run_to_completion(self._claim(call, now))
        except asyncio.CancelledError:
            # `run_to_completion` raises this only after the claim was made.
            await self._abandon(call)
            raise
        if answer_id is not None:
            yield answer_id
            return
        try:
            yield None
        except BaseException:
            await self._abandon(call)
            raise

    def record_answer(self, unit: UnitOfWork, call: IdempotentCall, answer_id: str) -> None:
        """Record the id of a result, in the transaction that stores the result.

        Raises:
            ConflictError: Another request has taken over the key.
        """
        if not unit[IdempotencyRecords].answer(
            call.route, call.key, answer_id, claim_id=call.claim_id
        ):
            raise ConflictError(
                "This request took so long that another one with the same Idempotency-Key has "
                "taken its place. Nothing of this one was stored: send it again, with the same "
                "key, for the answer of the other one.",
                code="request-superseded",
            )

    async def record_existing_answer(self, call: IdempotentCall, answer_id: str) -> None:
        """Record an existing result as the result of this request, which stores nothing itself.

        If another request has taken over the key, nothing is recorded, because that request has the
        same result.
        """
        await self.records.write(
            call.project_id,
            lambda unit: unit[IdempotencyRecords].answer(
                call.route, call.key, answer_id, claim_id=call.claim_id
            ),
        )

    async def _claim(self, call: IdempotentCall, now: datetime) -> str | None:
        route, key, digest, claim_id = call.route, call.key, call.identity.digest, call.claim_id

        def claim(unit: UnitOfWork) -> Claim | None:
            existing = unit[IdempotencyRecords].claim(route, key, digest, now, claim_id=claim_id)
            if existing is not None and _has_expired(existing, now):
                existing = unit[IdempotencyRecords].take_over(
                    route, key, existing, request_digest=digest, now=now, claim_id=claim_id
                )
            return existing

        # The claim may be lost in a power failure, because its request is lost too.
        existing = await self.records.write(call.project_id, claim, is_durable=False)
        return None if existing is None else _get_answer_id(existing, call.identity)

    async def _abandon(self, call: IdempotentCall) -> None:
        """Release the key of a request that has failed."""
        # If the database has failed too, the claim expires later. If the block was cancelled after
        # its commit, the claim has a result, and `abandon` does not remove it.
        with anyio.CancelScope(shield=True), suppress(PagefaultError):
            await self.records.write(
                call.project_id,
                lambda unit: unit[IdempotencyRecords].abandon(
                    call.route, call.key, claim_id=call.claim_id
                ),
            )


def _get_answer_id(claim: Claim, identity: RequestIdentity) -> str:
    """Return the id of the result of the request that has claimed a key.

    Raises:
        InvalidPayloadError, ConflictError: See `Idempotency.claim`.
    """
    if not identity.matches(claim.request_digest):
        raise InvalidPayloadError(
            "This Idempotency-Key was used for another request. "
            f"{explain_comparison(claim.request_digest)} Only a digest of it is kept, so where "
            "they differ cannot be said. Send what was sent with the key before, or take a new key "
            "for a new request.",
            code="idempotency-key-reused",
        )
    if claim.answer_id is None:
        raise ConflictError(
            "The same request with this Idempotency-Key is still being worked on. Send it again in "
            "a moment.",
            code="request-in-flight",
        )
    return claim.answer_id


def _has_expired(claim: Claim, now: datetime) -> bool:
    age = now - claim.claimed_at
    return age > KEPT or (claim.answer_id is None and age > ABANDONED_AFTER)
