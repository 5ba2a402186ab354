"""`PAGEFAULT_BLOBS__URL` and the endpoint: all of it is used as it was written, or refused."""

import pytest

from app.wiring.bucket_urls import BucketUrl, check_endpoint, parse_bucket_url
from app.wiring.startup_errors import SettingError

BUCKETS = {
    "s3://media": BucketUrl("media", ""),
    "s3://media/": BucketUrl("media", ""),
    "s3://media/team": BucketUrl("media", "team"),
    "s3://media/team/": BucketUrl("media", "team"),
    "s3://media/team/a=1,b@c+d/x_y.z": BucketUrl("media", "team/a=1,b@c+d/x_y.z"),
    "s3://Old_Bucket.Ceph": BucketUrl("Old_Bucket.Ceph", ""),
    "s3://b/x": BucketUrl("b", "x"),
    "s3://123": BucketUrl("123", ""),
}
REFUSED = {
    "s3://media/team#1": "no # is allowed",
    "s3://media#1": "no # is allowed",
    "s3://media/team?x=1": "no ? is allowed",
    "s3://media?": "no ? is allowed",
    "s3://media//team": "// in its prefix",
    "s3://media/team//": "// in its prefix",
    "s3://media//": "// behind the bucket",
    "s3://media/a//b": "// in its prefix",
    "s3:///team": "the bucket is missing",
    "s3://": "the bucket is missing",
    "s3://key:secret@media": "no user, password or port",
    "s3://key@media": "no user, password or port",
    "s3://media:9000/team": "no user, password or port",
    "s3://media/../x": ".. in its prefix",
    "s3://media/./x": ". in its prefix",
    "s3://media/..": ".. in its prefix",
    "s3://..": "a bucket's name",
    "s3://a..b": "a bucket's name",
    "s3://-a-": "a bucket's name",
    "s3://b\u00fccher": "a bucket's name",
    "s3://media/a%20b": "a prefix has",
    "s3://media/\u00fc": "a prefix has",
    "s3://media/a\\b": "a prefix has",
    "s3://media/a b": "a space or a control character",
    "s3://media/a\n": "a space or a control character",
    "s3://media/a\x00b": "a space or a control character",
    "s3://media/a\x7f": "a space or a control character",
    " s3://media": "must look like",
    "S3://media": "must look like",
    "https://media": "must look like",
    "media": "must look like",
    "": "must look like",
}


@pytest.mark.parametrize("text", BUCKETS)
def test_bucket_and_prefix_are_what_was_written(text: str) -> None:
    assert parse_bucket_url(text) == BUCKETS[text]


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "The URL of a bucket is used as a whole or refused",
    kept_by="app/wiring/bucket_urls.py",
    tried="32 spellings",
)
@pytest.mark.parametrize("text", REFUSED)
def test_url_of_which_a_part_would_be_lost_or_changed_is_refused_and_not_repeated(
    text: str,
) -> None:
    with pytest.raises(SettingError) as caught:
        parse_bucket_url(text)
    told = str(caught.value)
    assert told.startswith("PAGEFAULT_BLOBS__URL must look like s3://bucket")
    assert REFUSED[text] in told
    assert "key:secret" not in told


@pytest.mark.parametrize(
    ("text", "endpoint"),
    [
        (None, None),
        ("https://s3.example.com", "https://s3.example.com"),
        ("http://127.0.0.1:9000/", "http://127.0.0.1:9000"),
        ("https://[::1]:9000", "https://[::1]:9000"),
        ("https://example.com/s3", "https://example.com/s3"),
    ],
)
def test_endpoint_is_used_as_it_was_written(text: str | None, endpoint: str | None) -> None:
    assert check_endpoint(text) == endpoint


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1:9000",
        "objects:9000",
        "s3.example.com",
        "ftp://s3.example.com",
        "http://",
        "http://host:port",
        "http://host:99999",
        "http://host:0",
        "http://[::1",
        "http://user:secret@host",
        "http://host?x",
        "http://host#x",
        "http://ho st",
        "http://host\n",
    ],
)
def test_endpoint_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(SettingError, match="PAGEFAULT_BLOBS__S3_ENDPOINT must look like") as caught:
        check_endpoint(text)
    assert "secret" not in str(caught.value)
