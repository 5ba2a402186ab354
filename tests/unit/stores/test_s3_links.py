"""Pre-signed URLs with parameters: the same signature as those who know the protocol make."""

from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import obstore
import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from obstore.store import S3Store

from app.stores.blobs.s3_objects import sign_link

if TYPE_CHECKING:
    from obstore.store import S3Config

SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"  # noqa: S105 - the one of Amazon's examples
# https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html, its example.
PUBLISHED = (
    "https://examplebucket.s3.amazonaws.com/test.txt"
    "?X-Amz-Algorithm=AWS4-HMAC-SHA256"
    "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
    "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
    "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
)
PINNED = {
    "response-content-type": "text/plain; charset=utf-8",
    "response-content-disposition": "inline; filename=\"_ +.x\"; filename*=UTF-8''%E2%82%AC%20+.x",
}


def stores() -> list[S3Store]:
    """Buckets in every spelling of their address."""
    keys: S3Config = {
        "access_key_id": "AKID",
        "secret_access_key": SECRET,
        "region": "eu-west-1",
    }
    return [
        S3Store("bucket", prefix="some/pre fix+\u00fc", config=keys),
        S3Store("bucket", config={**keys, "endpoint": "http://127.0.0.1:9"}),
        S3Store("bucket", config={**keys, "virtual_hosted_style_request": True}),
        S3Store("bucket", config={**keys, "session_token": "a/+=token"}),
    ]


def signed(store: S3Store) -> str:
    return obstore.sign(store, "GET", "blobs/00/aa", timedelta(seconds=60))


def parts(url: str) -> tuple[str, list[str]]:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc}{split.path}", sorted(split.query.split("&"))


def test_the_published_example_is_signed_as_published() -> None:
    assert sign_link(PUBLISHED, {}, SECRET) == PUBLISHED


@pytest.mark.parametrize("store", stores())
def test_without_parameters_it_is_the_url_that_came(store: S3Store) -> None:
    url = signed(store)
    assert parts(sign_link(url, {}, SECRET)) == parts(url)


@pytest.mark.parametrize("store", stores())
def test_with_parameters_the_signature_is_that_of_amazons_library(store: S3Store) -> None:
    link = sign_link(signed(store), PINNED, SECRET)
    unsigned, _, signature = link.rpartition("&X-Amz-Signature=")
    request = AWSRequest("GET", unsigned)
    request.context["timestamp"] = unsigned.partition("X-Amz-Date=")[2][:16]
    auth = S3SigV4QueryAuth(Credentials("AKID", SECRET), "s3", "eu-west-1")
    text = auth.string_to_sign(request, auth.canonical_request(request))
    assert auth.signature(text, request) == signature


def test_every_parameter_is_in_the_signature() -> None:
    changed = {**PINNED, "response-content-disposition": "inline"}
    links = [sign_link(PUBLISHED, item, SECRET) for item in ({}, PINNED, changed)]
    assert len({link.rpartition("=")[2] for link in links}) == 3
