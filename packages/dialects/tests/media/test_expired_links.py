"""Expiry of links, read from their own parameters."""

from datetime import UTC, datetime, timedelta

import pytest

from pagefault_dialects.media.expired_links import check_link_expiry, read_link_expiry
from pagefault_dialects.model.resource import Damage

ENDS = datetime(2024, 1, 1, 1, tzinfo=UTC)
SECONDS = int(ENDS.timestamp())


@pytest.mark.parametrize(
    "query",
    [
        "X-Amz-Date=20240101T000000Z&X-Amz-Expires=3600&X-Amz-Signature=a",
        "X-Goog-Date=20240101T000000Z&X-Goog-Expires=3600",
        f"AWSAccessKeyId=a&Signature=b&Expires={SECONDS}",
        f"Expires={SECONDS}&Key-Pair-Id=a",
        f"ex={SECONDS:x}&is=a&hm=b",
        "se=2024-01-01T01%3A00%3A00Z&sig=a",
        "se=2024-01-01T01:00:00&sig=a",
        f"Expires={SECONDS}&Signature=a&Expires=1",
        f"Expires={SECONDS}&Key-Pair-Id=a&ex=1&hm=b&se=2020-01-01&sig=a",
        f"X-Amz-Expires=1&Expires={SECONDS}&Signature=a",
        f"Expires=1&ex={SECONDS:x}&hm=b",
        "ex=1&se=2024-01-01T02:00:00%2B01:00&sig=a",
    ],
)
def test_signed_link_has_the_expiry_of_its_parameters(query: str) -> None:
    assert read_link_expiry(f"https://example.com/a.png?{query}") == ENDS


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/a.png",
        "https://example.com/a.png?expires=never",
        "https://example.com/a.png?expires=12",
        "https://example.com/a.png?Expires=x&Signature=a",
        f"https://example.com/a.png?Expires={'9' * 40}&Signature=a",
        "https://example.com/a.png?X-Amz-Date=yesterday&X-Amz-Expires=1",
        "https://example.com/a.png?X-Amz-Date=20240101T000000Z&X-Amz-Expires=99999999999999",
        "https://[::1/a.png?se=2024-01-01&sig=a",
        "",
    ],
)
def test_other_links_have_no_expiry(url: str) -> None:
    assert read_link_expiry(url) is None


def test_link_is_damaged_from_its_expiry_on() -> None:
    url, second = f"https://example.com/a.png?ex={SECONDS:x}&hm=b", timedelta(seconds=1)
    damage = Damage("expired-link", "The link ended at 2024-01-01T01:00:00.000000Z.")
    found = [check_link_expiry(url, now) for now in (ENDS - second, ENDS, ENDS + second)]
    assert found == [None, damage, damage]
    assert check_link_expiry("https://example.com/a.png", ENDS) is None
