"""`RateLimit-Policy` and `RateLimit`: what a key may do, and what is left of it.

Source: draft-ietf-httpapi-ratelimit-headers-10. Both are lists of structured fields (RFC 9651): the
names are strings of ours, and everything else is an integer.
"""

from collections.abc import Sequence

from app.services.quotas.key_quotas import BYTES, QuotaState

# Without a unit, requests are counted.
_UNITS = {BYTES: ';qu="content-bytes"'}


def rate_limit_headers(states: Sequence[QuotaState]) -> list[tuple[bytes, bytes]]:
    """The two headers, as ASGI has them. A quota that is whole has no `t`."""
    policies = ", ".join(map(_policy, states))
    left = ", ".join(map(_left, states))
    return [(b"ratelimit-policy", policies.encode()), (b"ratelimit", left.encode())]


def _policy(state: QuotaState) -> str:
    unit = _UNITS.get(state.name, "")
    return f'"{state.name}";q={state.quota};w={state.window_seconds}{unit}'


def _left(state: QuotaState) -> str:
    reset = "" if state.reset_seconds is None else f";t={state.reset_seconds}"
    return f'"{state.name}";r={state.remaining}{reset}'
