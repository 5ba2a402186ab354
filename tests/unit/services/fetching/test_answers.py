"""Names, types and sizes in answers of other servers, which are untrusted."""

import httpx
import pytest

from app.errors import FetchBlockedError, UpstreamError
from app.services.fetching.fetcher import (
    check_encoding,
    read_declared_size,
    read_declared_type,
    read_filename,
)


@pytest.mark.parametrize(
    ("disposition", "url", "expected"),
    [
        (None, "http://a.test/b/photo.png?x=/y.gif", "photo.png"),
        (None, "http://a.test/b/na%C3%AFve%20file.png", "naïve file.png"),
        (None, "http://a.test/b/", None),
        (None, "http://a.test", None),
        (None, "http://a.test/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "passwd"),
        (None, "http://a.test/a%0d%0aX-Evil:%201.png", "aX-Evil: 1.png"),
        (None, "http://a.test/%ff.png", "�.png"),
        ("inline", "http://a.test/b.png", "b.png"),
        ("attachment; filename=a.png", "http://a.test/b.png", "a.png"),
        ('attachment; filename="a b.png"', "http://a.test/", "a b.png"),
        ('attachment;FileName = "a.png"', "http://a.test/", "a.png"),
        (r'attachment; filename="a\"b.png"', "http://a.test/", 'a"b.png'),
        (
            "attachment; filename=x.png; filename*=UTF-8''na%C3%AFve.png",
            "http://a.test/",
            "naïve.png",
        ),
        ("attachment; filename*=iso-8859-1'en'na%EFve.png", "http://a.test/", "naïve.png"),
        ("attachment; filename*=utf-7''x.png; filename=a.png", "http://a.test/", "x.png"),
        ("attachment; filename*=plain.png; filename=a.png", "http://a.test/", "plain.png"),
        ('attachment; x="; filename=evil.exe"; filename=a.png', "http://a.test/", "a.png"),
        ('attachment; filename="../../etc/passwd"', "http://a.test/", "passwd"),
        (r'attachment; filename="C:\temp\a.png"', "http://a.test/", "a.png"),
        ("attachment; filename*=UTF-8''..%2F..%2Fa.png", "http://a.test/", "a.png"),
        ("attachment; filename*=UTF-8''a%0D%0A%00b.png", "http://a.test/", "ab.png"),
        ("attachment; filename*=UTF-8''gnp%E2%80%AE.exe", "http://a.test/", "gnp.exe"),
        ('attachment; filename="con.png"', "http://a.test/", "_con.png"),
        ('attachment; filename=".."', "http://a.test/b.png", "b.png"),
        ('attachment; filename=""', "http://a.test/b.png", "b.png"),
        ("attachment; filename=ä.png", "http://a.test/", "ä.png"),
        ('attachment; filename="unclosed', "http://a.test/b.png", '"unclosed'),
    ],
)
def test_file_name_is_a_safe_base_name(
    disposition: str | None, url: str, expected: str | None
) -> None:
    headers = httpx.Headers(
        [] if disposition is None else [(b"Content-Disposition", disposition.encode())]
    )
    assert read_filename(headers, httpx.URL(url)) == expected


def test_file_name_of_any_length_is_shortened() -> None:
    headers = httpx.Headers({"Content-Disposition": f"attachment; filename={'a' * 50_000}.png"})
    name = read_filename(headers, httpx.URL("http://a.test/"))
    assert name is not None
    assert len(name) == 255


@pytest.mark.parametrize("name", [';a="\\"', ';a="', ";   ", "; a ", "'"])
def test_crafted_disposition_names_nothing(name: str) -> None:
    headers = httpx.Headers({"Content-Disposition": name * 20_000})
    assert read_filename(headers, httpx.URL("http://a.test/b")) == "b"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Image/PNG; charset=x", "image/png"),
        ("text/plain", "text/plain"),
        ("png", None),
        ("", None),
        ("text/<script>", None),
    ],
)
def test_declared_type_is_canonical(header: str, expected: str | None) -> None:
    assert read_declared_type(httpx.Headers({"Content-Type": header})) == expected


@pytest.mark.parametrize("coding", [None, "", "identity", "Identity, identity"])
def test_plain_answer_is_taken(coding: str | None) -> None:
    check_encoding(httpx.Headers({} if coding is None else {"Content-Encoding": coding}))


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip", "identity, br", "x-gzip", "unheard-of"])
def test_compressed_answer_is_refused(coding: str) -> None:
    with pytest.raises(UpstreamError):
        check_encoding(httpx.Headers({"Content-Encoding": coding}))


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"Content-Length": "0"}, 0),
        ({"Content-Length": "100"}, 100),
        ({"Content-Length": "900", "Transfer-Encoding": "chunked"}, None),
    ],
)
def test_announced_size_is_known_where_it_counts(
    headers: dict[str, str], expected: int | None
) -> None:
    assert read_declared_size(httpx.Headers(headers), 100) == expected


def test_announced_size_beyond_the_limit_is_refused() -> None:
    with pytest.raises(FetchBlockedError) as refused:
        read_declared_size(httpx.Headers({"Content-Length": "101"}), 100)
    assert refused.value.problem_code == "fetch-too-large"
