"""URLs taken apart: what is dialled, and what no two programs would read the same way."""

from dataclasses import dataclass
from ipaddress import ip_address

import pytest

from app.errors import FetchBlockedError
from app.services.fetching.targets import parse_target, resolve_redirect


@dataclass(frozen=True)
class Parts:
    url: str
    host: str
    port: int
    authority: str


def parts(url: str) -> Parts:
    target = parse_target(url)
    assert target.host_address == (ip_address(target.host) if target.host_address else None)
    return Parts(str(target.url), target.host, target.port, target.authority)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test", Parts("http://a.test", "a.test", 80, "a.test")),
        ("HTTPS://A.Test/B", Parts("https://a.test/B", "a.test", 443, "a.test")),
        ("https://a.test:443/", Parts("https://a.test/", "a.test", 443, "a.test")),
        ("https://a.test:80/", Parts("https://a.test:80/", "a.test", 80, "a.test:80")),
        ("http://a.test:\uff18\uff10/", Parts("http://a.test/", "a.test", 80, "a.test")),
        ("http://a.test./x", Parts("http://a.test./x", "a.test", 80, "a.test")),
        ("http://a_b.test/", Parts("http://a_b.test/", "a_b.test", 80, "a_b.test")),
        ("http://a.test/x#y", Parts("http://a.test/x", "a.test", 80, "a.test")),
        ("http://a.test/x?q=@b#c", Parts("http://a.test/x?q=@b", "a.test", 80, "a.test")),
        ("http://a.test#@b.test/", Parts("http://a.test", "a.test", 80, "a.test")),
        ("http://a.test/%0d%0aX:%201", Parts("http://a.test/%0d%0aX:%201", "a.test", 80, "a.test")),
        ("http://a.test/ä", Parts("http://a.test/%C3%A4", "a.test", 80, "a.test")),
        (
            "http://Bücher.test/",
            Parts("http://xn--bcher-kva.test/", "xn--bcher-kva.test", 80, "xn--bcher-kva.test"),
        ),
        ("http://a。test/", Parts("http://a.test/", "a.test", 80, "a.test")),
        ("http://1.2.3.4.", Parts("http://1.2.3.4.", "1.2.3.4", 80, "1.2.3.4")),
        ("http://[::1]:8080/", Parts("http://[::1]:8080/", "::1", 8080, "[::1]:8080")),
        ("http://[0:0:0::1]/", Parts("http://[0:0:0::1]/", "::1", 80, "[::1]")),
        # Odd spellings stay names, so that the resolver says which address they are.
        ("http://2130706433/", Parts("http://2130706433/", "2130706433", 80, "2130706433")),
        ("http://0x7f.1/", Parts("http://0x7f.1/", "0x7f.1", 80, "0x7f.1")),
        ("http://127.1/", Parts("http://127.1/", "127.1", 80, "127.1")),
    ],
)
def test_url_is_taken_apart(url: str, expected: Parts) -> None:
    assert parts(url) == expected


@pytest.mark.promise(
    "security.md#the-inner-network",
    (
        "A URL that two parsers read differently (userinfo, control characters, backslashes) "
        "is refused, and so is any scheme but http and https"
    ),
    kept_by="app/services/fetching/targets.py",
    tried="68 URLs",
)
@pytest.mark.parametrize(
    "url",
    [
        "",
        "a.test",
        "//a.test/",
        "http:",
        "http://",
        "http:///x",
        "http:a.test",
        "http:/a.test",
        "http://?x",
        "http://:80/",
        "ftp://a.test/",
        "file:///etc/passwd",
        "gopher://a.test/",
        "data:text/plain,a",
        "javascript:alert(1)",
        "unix:///var/run/docker.sock",
        "jar:http://a.test!/",
        "http+unix://a.test/",
        "http://u@a.test/",
        "http://u:p@a.test/",
        "http://@a.test/",
        "http://:@a.test/",
        "http://a.test@b.test@c.test/",
        "http://a.test:80@b.test/",
        "http://a.test/\r\nHost: b.test",
        "http://a.test\n/",
        "http://a.test/\t",
        "http://a.test/\0",
        "http://a.test/\x7f",
        "http://a.test/\x85",
        "http://a.test/\u2028",
        "http://a.test/\u202e",
        "http://a.test/\ud800",
        "http://a.test/a b",
        " http://a.test/",
        "http://a.test ",
        "http://a.test\u00a0/",
        "http://a.test\\@b.test/",
        "http:\\\\a.test/",
        "http://a..test/",
        "http://.a.test/",
        "http://a.test../",
        "http://./",
        "http://-a.test/",
        "http://%31%32%37.0.0.1/",
        "http://a%2etest/",
        "http://a.test%00.b.test/",
        "http://a,b.test/",
        "http://a;b.test/",
        "http://*.test/",
        "http://" + "a" * 64 + ".test/",
        "http://" + "a." * 130 + "test/",
        "http://a.test:x/",
        "http://a.test:80:90/",
        "http://a.test:" + "9" * 5_000 + "/",
        "http://[::1/",
        "http://[::1]x/",
        "http://[1.2.3.4]/",
        "http://[fe80::1%25lo]/",
        "http://[fe80::1%lo]/",
        "http://[::ffff:127.0.0.1%1]/",
        "http://0177.0.0.1/",
        "http://127.0.0.256/",
        "http://\uff11\uff12\uff17.0.0.1/",
        "http://①②⑦.0.0.1/",
        "http://ⓔxample.test/",
        "http://a\u200bb.test/",
        "http://a.test/" + "a" * 70_000,
    ],
)
def test_url_that_can_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(FetchBlockedError):
        parse_target(url)


@pytest.mark.parametrize(
    ("origin", "location", "expected"),
    [
        ("http://a.test/b/c?q", "d", "http://a.test/b/d"),
        ("http://a.test/b/c", "/d?e", "http://a.test/d?e"),
        ("http://a.test/b/c", "?e", "http://a.test/b/c?e"),
        ("http://a.test/b/c", "", "http://a.test/b/c"),
        ("http://a.test/b/c", "//b.test/d", "http://b.test/d"),
        ("http://a.test/b", "https://b.test/d#e", "https://b.test/d"),
        ("https://a.test/b", "https://b.test:8443/", "https://b.test:8443/"),
        ("http://a.test./b", "/c", "http://a.test./c"),
        ("http://[::1]:8080/b", "/c", "http://[::1]:8080/c"),
    ],
)
def test_redirect_is_relative_to_the_url_that_was_asked(
    origin: str, location: str, expected: str
) -> None:
    assert resolve_redirect(parse_target(origin), location) == parse_target(expected)


@pytest.mark.parametrize(
    "location",
    [
        "http://a.test/",
        "file:///etc/passwd",
        "gopher://a.test/",
        "javascript:alert(1)",
        "https://u:p@a.test/",
        "//u@a.test/",
        "https://a.test\\@b.test/",
        "https://a.test/a b",
        "https://[::1",
        "https://[x]/",
        "https://a.test/\n",
        "ht\ntps://a.test/",
        "https://a.test/\x9f",
    ],
)
def test_redirect_that_leaves_the_rules_is_refused(location: str) -> None:
    with pytest.raises(FetchBlockedError):
        resolve_redirect(parse_target("https://origin.test/x"), location)


@pytest.mark.parametrize(
    ("url", "address", "expected"),
    [
        ("https://a.test/b?c", "93.184.216.34", "https://93.184.216.34/b?c"),
        ("http://a.test:8080/", "2606:4700::1", "http://[2606:4700::1]:8080/"),
        ("http://a.test/100%", "1.1.1.1", "http://1.1.1.1/100%"),
        ("http://a.test/%2e%2e/%41", "1.1.1.1", "http://1.1.1.1/%2e%2e/%41"),
    ],
)
def test_dialled_url_names_the_address(url: str, address: str, expected: str) -> None:
    assert str(parse_target(url).replace_host(ip_address(address))) == expected
