"""Idempotency keys: a repeated write returns the result of the first write.

Before the work starts, a transaction claims the key. So a second request finds out that the first
one is in flight. The transaction of the work records the id of the result.

If a claim has no result after 15 minutes, its request is considered dead, and the next request with
the key takes over the claim. If the first request tries to commit later, its claim id is not the
stored one: its transaction is rolled back, and nothing is stored twice.
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

# A claim without an answer belongs to a request in flight, or to a process that was killed.
ABANDONED_AFTER = timedelta(minutes=15)


@dataclass(frozen=True, slots=True)
class IdempotentCall:
    """A request with an idempotency key."""

    project_id: str
    route: str
    key: str
    identity: RequestIdentity
    claim_id: str = field(default_factory=new_id)
    """Distinguishes this request from others with the same key."""


@dataclass(frozen=True, slots=True)
class Idempotency:
    """Claims keys for requests, and stores the ids of their results for 24 hours.

    The same key may be used for several routes and projects.
    """

    records: Records

    @asynccontextmanager
    async def claim(self, call: IdempotentCall, now: datetime) -> AsyncIterator[str | None]:
        """Claim a key during the block, in which the caller does the work.

        If the block raises before the result is recorded, the key is released, unless another
        request has taken it over.

        Yields:
            The id of the result of an earlier, equal request. If it is `None`, the caller does the
            work, and calls `record_answer` in its transaction.

        Raises:
            InvalidPayloadError: The key was used for another request.
            ConflictError: The same request is in flight.
        """
        try:
            answer_id = await run_to_completion(self._claim(call, now))
        except asyncio.CancelledError:
            # `run_to_completion` has made the claim before it raised this.
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
        """Record an earlier result as the result of this request, which stores nothing.

        If another request has taken over the key, nothing is recorded: it has the same result.
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

        # The claim need not survive a power failure; the work of the request is durable.
        existing = await self.records.write(call.project_id, claim, is_durable=False)
        return None if existing is None else _get_answer_id(existing, call.identity)

    async def _abandon(self, call: IdempotentCall) -> None:
        """Release the key of a request that has failed."""
        # If the database has failed, the claim expires. If the block was cancelled just after its
        # commit, the claim has a result, and stays.
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
