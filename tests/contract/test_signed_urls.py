"""Signed links: they carry one permission, for a while, and nothing of it can be changed."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from pydantic import SecretStr

from app.config.settings import Settings
from app.services.access.callers import LinkGrant, LinkSigner, SigningKey
from tests.kit.media import png
from tests.kit.plain_http import TRUSTS_NOBODY
from tests.kit.servers import LiveService, serving

TOMORROW = timedelta(days=1)


@dataclass(frozen=True)
class Linked:
    """A resource with a link to it, and a client without any key."""

    service: LiveService
    owner: httpx.Client
    anyone: httpx.Client
    path: str
    grant: LinkGrant

    @property
    def content_path(self) -> str:
        return f"{self.path}/content"

    def fetch(
        self,
        token: str,
        *,
        method: str = "GET",
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        query = {"token": token, **(params or {})}
        return self.anyone.request(method, self.content_path, params=query, headers=headers)


def signing_key(settings: Settings) -> SigningKey:
    if settings.signing_keys:
        text = settings.signing_keys[0].get_secret_value()
    else:
        text = (settings.data_dir / "signing-key").read_text()
    key_id, _, secret = text.partition(":")
    return SigningKey(key_id, secret.encode())


def signer(linked: Linked) -> LinkSigner:
    return LinkSigner([signing_key(linked.service.settings)])


@pytest.fixture
def linked(service: LiveService, request: pytest.FixtureRequest) -> Iterator[Linked]:
    project = f"linked-{hashlib.sha256(request.node.name.encode()).hexdigest()[:12]}"
    with (
        service.client(service.new_key(project)) as owner,
        httpx.Client(base_url=service.base_url, trust_env=False, verify=TRUSTS_NOBODY) as anyone,
    ):
        path = owner.post("/api/resources", content=png(), params={"filename": "a.png"}).headers[
            "location"
        ]
        expires_at = (datetime.now(UTC) + TOMORROW).replace(microsecond=0)
        grant = LinkGrant(project, path.rpartition("/")[2], "inline", None, expires_at)
        yield Linked(service, owner, anyone, path, grant)


def ask_for_link(linked: Linked, body: object = None) -> httpx.Response:
    return linked.owner.post(f"{linked.path}/signed-url", json=body or {})


def assert_refused(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (403, "invalid-link")


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("body", [b"", b"null", b"{}", b'{"expiresInSeconds":60}'])
def test_link_works_without_a_key(linked: Linked, body: bytes) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    headers = {"Content-Type": "application/json"} if body else {}
    response = linked.owner.post(f"{linked.path}/signed-url", content=body, headers=headers)
    link = response.json()
    seconds = 60 if b"60" in body else 300
    assert (response.status_code, set(link)) == (200, {"url", "expiresAt"})
    assert link["url"].startswith(f"{linked.service.base_url}{linked.content_path}?token=")
    assert datetime.fromisoformat(link["expiresAt"]) >= before + timedelta(seconds=seconds)
    answer = linked.anyone.get(link["url"])
    assert (answer.status_code, answer.content) == (200, png())
    assert answer.headers["content-disposition"] == 'inline; filename="a.png"'


@pytest.mark.promise(
    "security.md#links-and-keys",
    (
        "Any page that has a signed link may embed what it leads to; what a key reads may not"
        " be embedded ([why](decisions/signed-links.md))"
    ),
    kept_by="app/config/settings.py",
    tried="4 answers and a refusal",
)
def test_link_may_be_embedded_anywhere_and_what_a_key_reads_may_not(linked: Linked) -> None:
    token = signer(linked).sign(linked.grant)
    answers = [
        linked.fetch(token),
        linked.fetch(token, method="HEAD"),
        linked.fetch(token, headers={"Range": "bytes=0-1"}),
        linked.owner.get(linked.content_path),
    ]
    found = [answer.headers["cross-origin-resource-policy"] for answer in answers]
    assert found == ["cross-origin"] * 3 + ["same-origin"]
    refused = linked.fetch("guessed")
    assert (refused.status_code, refused.headers.get("cross-origin-resource-policy")) == (403, None)


def test_link_answers_ranges_conditions_and_head(linked: Linked) -> None:
    token = signer(linked).sign(linked.grant)
    part = linked.fetch(token, headers={"Range": "bytes=1-3"})
    head = linked.fetch(token, method="HEAD")
    known = linked.fetch(token, headers={"If-None-Match": part.headers["etag"]})
    assert (part.status_code, part.content) == (206, png()[1:4])
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(png())))
    assert known.status_code == 304


@pytest.mark.engines("embedded")
@pytest.mark.promise(
    "security.md#links-and-keys",
    "An expired link is refused",
    kept_by="app/services/access/callers.py",
    tried="3 ages",
)
@pytest.mark.parametrize("seconds", [1, 3_600, 10_000_000])
def test_link_that_is_over_is_refused(linked: Linked, seconds: int) -> None:
    over = datetime.now(UTC) - timedelta(seconds=seconds)
    assert_refused(linked.fetch(signer(linked).sign(replace(linked.grant, expires_at=over))))


def encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def with_claim(index: int, value: object) -> Callable[[str], str]:
    """The token with one claim changed, and the old signature."""

    def mutate(token: str) -> str:
        payload, _, mac = token.partition(".")
        claims = json.loads(decode(payload))
        claims[index] = value
        return f"{encode(json.dumps(claims, separators=(',', ':')).encode())}.{mac}"

    return mutate


def with_payload(payload: bytes) -> Callable[[str], str]:
    return lambda token: f"{encode(payload)}.{token.partition('.')[2]}"


def signed_with(secret: bytes, method: bytes = b"GET") -> Callable[[str], str]:
    """The token with a signature of somebody who does not know the secret."""

    def mutate(token: str) -> str:
        payload = decode(token.partition(".")[0])
        mac = hmac.new(secret, method + b"\n" + payload, hashlib.sha256).digest()
        return f"{encode(payload)}.{encode(mac)}"

    return mutate


def flipped(token: str) -> str:
    payload, _, mac = token.partition(".")
    changed = bytes([decode(mac)[0] ^ 1]) + decode(mac)[1:]
    return f"{payload}.{encode(changed)}"


def other_spelling(token: str) -> str:
    """Other base64 for the same bytes: the unused bits of its last character are set."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return token[:-1] + alphabet[alphabet.index(token[-1]) + 1]


MUTATIONS: dict[str, Callable[[str], str]] = {
    "another key id": with_claim(0, "k2"),
    "no key id": with_claim(0, None),
    "a list as key id": with_claim(0, ["k1"]),
    "another project": with_claim(1, "victim"),
    "another resource": with_claim(2, "0" * 32),
    "another disposition": with_claim(3, "attachment"),
    "another filename": with_claim(4, "evil.exe"),
    "a later expiry": with_claim(5, 99_999_999_999),
    "an endless expiry": with_claim(5, 1e300),
    "no expiry": with_claim(5, None),
    "a claim more": lambda token: with_payload(decode(token.partition(".")[0])[:-1] + b",1]")(
        token
    ),
    "no claims": with_payload(b"[]"),
    "an object": with_payload(b"{}"),
    "not JSON": with_payload(b"\xff\xfe"),
    "deep JSON": with_payload(b"[" * 1_400),
    "a flipped bit": flipped,
    "a shorter signature": lambda token: token[:-4],
    "no signature": lambda token: token.partition(".")[0] + ".",
    "only a signature": lambda token: "." + token.partition(".")[2],
    "no dot": lambda token: token.replace(".", ""),
    "two dots": lambda token: token + ".x",
    "padding": lambda token: token + "=",
    "other base64": other_spelling,
    "a space": lambda token: token + " ",
    "upper case": str.upper,
    "another alphabet": lambda token: token.partition(".")[0] + ".+/" + token[-41:],
    "not ASCII": lambda token: token + "\u00e9",
    "nothing": lambda _: "",
    "another secret": signed_with(b"0" * 64),
    "an empty secret": signed_with(b""),
    "the key id as secret": signed_with(b"k1"),
}


@pytest.mark.engines("embedded")
@pytest.mark.promise(
    "security.md#links-and-keys",
    "An altered link is refused",
    kept_by="app/services/access/callers.py",
    tried="31 mutations",
)
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_altered_link_is_refused(linked: Linked, mutation: str) -> None:
    token = signer(linked).sign(linked.grant)
    altered = MUTATIONS[mutation](token)
    assert linked.fetch(token).status_code == 200
    assert altered != token
    assert_refused(linked.fetch(altered))


@pytest.mark.promise(
    "security.md#links-and-keys",
    "A link that is signed for one method opens no other",
    kept_by="app/services/access/callers.py",
    tried="403",
)
def test_link_signed_for_another_method_is_refused(linked: Linked) -> None:
    secret = signing_key(linked.service.settings).secret
    token = signer(linked).sign(linked.grant)
    assert linked.fetch(signed_with(secret, b"GET")(token)).status_code == 200
    assert_refused(linked.fetch(signed_with(secret, b"DELETE")(token)))


@pytest.mark.promise(
    "security.md#links-and-keys",
    "A link to one resource opens no other",
    kept_by="app/services/access/callers.py",
    tried="403",
)
def test_link_to_one_resource_opens_no_other(linked: Linked) -> None:
    other = linked.owner.post("/api/resources", content=b"other").headers["location"]
    token = signer(linked).sign(linked.grant)
    assert_refused(linked.anyone.get(f"{other}/content", params={"token": token}))


def test_link_opens_nothing_but_content(linked: Linked) -> None:
    params = {"token": signer(linked).sign(linked.grant)}
    answers = [
        linked.anyone.get(linked.path, params=params),
        linked.anyone.head(linked.path, params=params),
        linked.anyone.delete(linked.path, params=params),
        linked.anyone.post(f"{linked.path}/signed-url", params=params),
        linked.anyone.get("/api/resources", params=params),
    ]
    assert [answer.status_code for answer in answers] == [401] * 5
    assert linked.owner.get(linked.path).status_code == 200


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_link_takes_no_other_method(linked: Linked, method: str) -> None:
    answer = linked.fetch(signer(linked).sign(linked.grant), method=method)
    assert answer.status_code == 405


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    ("disposition", "filename", "sent"),
    [
        ("attachment", None, 'attachment; filename="a.png"'),
        ("attachment", "b.png", 'attachment; filename="b.png"'),
        ("inline", "b.png", 'inline; filename="b.png"'),
    ],
)
def test_link_says_how_the_content_is_presented(
    linked: Linked, disposition: str, filename: str | None, sent: str
) -> None:
    link = ask_for_link(linked, {"disposition": disposition, "filename": filename}).json()["url"]
    token = httpx.URL(link).params["token"]
    plain = linked.fetch(token)
    overridden = linked.fetch(token, params={"filename": "evil.html", "download": "0"})
    assert [a.headers["content-disposition"] for a in (plain, overridden)] == [sent, sent]


@pytest.mark.engines("embedded")
@pytest.mark.parametrize(
    "body",
    [
        {"expiresInSeconds": 0},
        {"expiresInSeconds": 86_401},
        {"expiresInSeconds": 2**70},
        {"expiresInSeconds": None},
        {"disposition": "form-data"},
        {"filename": "x" * 256},
        {"expires": 60},
    ],
)
def test_request_for_another_link_is_refused(linked: Linked, body: dict[str, object]) -> None:
    answer = ask_for_link(linked, body)
    pointers = [fault["pointer"] for fault in answer.json()["errors"]]
    assert (answer.status_code, pointers) == (422, [f"/{key}" for key in body])


def test_link_of_a_deleted_resource_finds_nothing(linked: Linked) -> None:
    token = signer(linked).sign(linked.grant)
    linked.owner.delete(linked.path)
    assert linked.fetch(token).status_code == 404
    assert ask_for_link(linked).status_code == 404


def test_bad_link_is_not_saved_by_a_good_key(linked: Linked) -> None:
    assert_refused(linked.owner.get(linked.content_path, params={"token": "x.y"}))


@pytest.mark.promise(
    "security.md#links-and-keys",
    "Two signing keys are valid at once, and no `Host` decides where a link leads",
    kept_by="app/wiring/open_stores.py",
    tried="2 keys",
)
def test_old_signing_key_opens_links_while_the_new_one_signs(settings: Settings) -> None:
    old, new = "k1:" + "o" * 32, "k2:" + "n" * 32

    def with_keys(*keys: str, **more: object) -> Settings:
        signing_keys = tuple(SecretStr(key) for key in keys)
        return settings.model_copy(update={"signing_keys": signing_keys, **more})

    with serving(with_keys(old)) as service:
        key = service.new_key("rotated")
        with service.client(key) as client:
            path = client.post("/api/resources", content=png()).headers["location"]
            link = httpx.URL(client.post(f"{path}/signed-url").json()["url"])
    for keys, status in (((new, old), 200), ((new,), 403)):
        with serving(with_keys(*keys)) as service, service.client() as client:
            assert client.get(link.raw_path.decode()).status_code == status
    public = with_keys(new, public_url="https://media.example")
    with serving(public) as service, service.client(key) as client:
        host = {"Host": "evil.example"}
        url = client.post(f"{path}/signed-url", headers=host).json()["url"]
    assert url.startswith(f"https://media.example{path}/content?token=")
