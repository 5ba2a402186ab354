"""Parse the settings of a bucket: its URL and its endpoint.

The prefix may contain neither `#` and `?`, after which URL parsers would cut it off, nor `//` and
`..`, which clients of S3 would replace. The service does not start with such a prefix.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from app.wiring.startup_errors import SettingError

_URL_VARIABLE = "PAGEFAULT_BLOBS__URL"
_ENDPOINT_VARIABLE = "PAGEFAULT_BLOBS__S3_ENDPOINT"
_URL_RULE = f"{_URL_VARIABLE} must look like s3://bucket or s3://bucket/prefix"
# Amazon allows names of 3 to 63 characters, without capitals and underscores. Older buckets and
# other stores have both. Each store returns an error for a name that it does not allow.
_BUCKET_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,253}[A-Za-z0-9])?")
# Characters of S3 keys that need no escaping in a URL, and that no client of S3 changes.
_PREFIX_SEGMENT = re.compile(r"[A-Za-z0-9!$&'()+,;=@_.:-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\xa0\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class BucketUrl:
    """A bucket, and the prefix of all keys in it, which may be empty."""

    bucket: str
    prefix: str


def parse_bucket_url(text: str) -> BucketUrl:
    """Parse `s3://bucket/prefix`. A slash at the end is removed.

    Raises:
        SettingError: The URL has another form, or a part of it would be lost or changed.
    """
    scheme, separator, rest = text.partition("://")
    if scheme != "s3" or not separator:
        raise SettingError(_URL_RULE)
    if _UNPRINTABLE.search(text):
        raise SettingError(f"{_URL_RULE}: it has a space or a control character in it")
    for character in "#?":
        if character in rest:
            raise SettingError(
                f"{_URL_RULE}: no {character} is allowed in it, use letters, digits, - _ ."
            )
    bucket, slash, prefix = rest.partition("/")
    _check_bucket(bucket)
    prefix = prefix.removesuffix("/")
    if slash and prefix:
        _check_prefix(prefix)
    elif rest.endswith("//"):
        raise SettingError(f"{_URL_RULE}: it has // behind the bucket")
    return BucketUrl(bucket, prefix)


def check_endpoint(text: str | None) -> str | None:
    """Return the endpoint without a slash at its end.

    Raises:
        SettingError: The endpoint is not an HTTP URL with a host.
    """
    if text is None:
        return None
    rule = f"{_ENDPOINT_VARIABLE} must look like https://s3.example.com or http://127.0.0.1:9000"
    try:
        url = urlsplit(text)
        port = url.port
    except ValueError as exc:
        raise SettingError(f"{rule}: its host or port is none") from exc
    if _UNPRINTABLE.search(text) or url.scheme not in ("http", "https") or not url.hostname:
        raise SettingError(rule)
    if port == 0 or "@" in url.netloc or "?" in text or "#" in text:
        raise SettingError(f"{rule}: it has no user, no port 0, no ? and no #")
    return text.rstrip("/")


def _check_bucket(bucket: str) -> None:
    if not bucket:
        raise SettingError(f"{_URL_RULE}: the bucket is missing")
    if "@" in bucket or ":" in bucket:
        raise SettingError(
            f"{_URL_RULE}: no user, password or port stands before the bucket; the key is set by "
            "PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID and PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY, the host "
            f"by {_ENDPOINT_VARIABLE}"
        )
    if not _BUCKET_NAME.fullmatch(bucket) or ".." in bucket:
        raise SettingError(
            f"{_URL_RULE}: a bucket's name has letters, digits, - _ and . and begins and ends with "
            "a letter or digit"
        )


def _check_prefix(prefix: str) -> None:
    for segment in prefix.split("/"):
        if not segment:
            raise SettingError(f"{_URL_RULE}: it has // in its prefix")
        if segment in (".", ".."):
            raise SettingError(
                f"{_URL_RULE}: it has {segment} in its prefix, which S3 does not follow"
            )
        if not _PREFIX_SEGMENT.fullmatch(segment):
            raise SettingError(
                f"{_URL_RULE}: a prefix has letters, digits and ! $ & ' ( ) + , ; = @ _ . : - "
                "between its slashes"
            )
