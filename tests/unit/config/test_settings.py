"""Settings that are spelled in another way than they are read are refused, with the right one."""

import pytest
from pydantic import ValidationError

from app.config.settings import Settings, find_unknown_variables


def refusal(patch: pytest.MonkeyPatch, name: str, value: str) -> str:
    """Return the sentence about a variable."""
    patch.setenv(name, value)
    with pytest.raises(ValidationError) as refused:
        Settings()
    [error] = refused.value.errors()
    where = "PAGEFAULT_" + "__".join(map(str, error["loc"])).upper() + ": " if error["loc"] else ""
    return where + error["msg"].removeprefix("Value error, ")


@pytest.mark.promise(
    "security.md#settings",
    "A misspelt variable is refused, with the nearest name",
    kept_by="app/config/settings.py",
    tried="16 names",
)
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("PAGEFAULT_LIMITS_BODY_BYTES", "PAGEFAULT_LIMITS__BODY_BYTES"),
        ("PAGEFAULT_LIMITS__BODYBYTES", "PAGEFAULT_LIMITS__BODY_BYTES"),
        ("PAGEFAULT__LIMITS__BODY_BYTES", "PAGEFAULT_LIMITS__BODY_BYTES"),
        ("PAGEFAULT_LIMIT__BODY_BYTES", "PAGEFAULT_LIMITS__BODY_BYTES"),
        ("PAGEFAULT_BODY_BYTES", "PAGEFAULT_LIMITS__BODY_BYTES"),
        ("PAGEFAULT_DATADIR", "PAGEFAULT_DATA_DIR"),
        ("PAGEFAULT_DATA__DIR", "PAGEFAULT_DATA_DIR"),
        ("pagefault_datadir", "PAGEFAULT_DATA_DIR"),
        ("PAGEFAULT_CORS_ORIGIN", "PAGEFAULT_CORS_ORIGINS"),
        ("PAGEFAULT_ALLOWED_HOST", "PAGEFAULT_ALLOWED_HOSTS"),
        ("PAGEFAULT_FETCH_ALLOW", "PAGEFAULT_FETCH__ALLOW"),
        ("PAGEFAULT_DB_URL", "PAGEFAULT_DB__URL"),
        ("PAGEFAULT_BLOBS_S3_ENDPOINT", "PAGEFAULT_BLOBS__S3_ENDPOINT"),
        ("PAGEFAULT_AUTHENTICATION", None),
        ("PAGEFAULT_", None),
        ("PAGEFAULT_COLOUR", None),
    ],
)
def test_misspelt_variable_is_refused_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, given: str, meant: str | None
) -> None:
    text = "docs/settings.md lists all of them" if meant is None else f"Did you mean {meant}?"
    assert refusal(monkeypatch, given, "1") == f"{given} is not a setting. {text}"


@pytest.mark.parametrize(
    "name",
    [
        "PAGEFAULT_DATA_DIR",
        "pagefault_data_dir",
        "PAGEFAULT_LIMITS__BODY_BYTES",
        "PAGEFAULT_LIMITS",
        "PAGEFAULT_URL",
        "PAGEFAULT_API_KEY",
        "PAGEFAULT_LOG",
        "PAGEFAULT_CRASH_AT",
        "PAGEFAULT_SERVICE_HOST",
        "PAGEFAULT_SERVICE_PORT",
        "PAGEFAULT_SERVICE_PORT_HTTP",
        "PAGEFAULT_PORT_8000_TCP",
        "PAGEFAULT_PORT_8000_TCP_ADDR",
        "PAGEFAULT_POSTGRESQL_SERVICE_HOST",
        "PAGEFAULT_POSTGRESQL_PORT_5432_TCP_ADDR",
        "PAGEFAULT_OBJECTS_SERVICE_PORT",
        "MY_PAGEFAULT_DATADIR",
        "DECTO_DEBUG_TOOL_RESULT_RAW",
    ],
)
def test_name_that_somebody_reads_is_left_alone(name: str) -> None:
    assert find_unknown_variables({name: "1"}, Settings) == []


def test_address_of_another_service_of_a_cluster_is_left_alone() -> None:
    name = "PAGEFAULT_POSTGRESQL_PORT"
    assert find_unknown_variables({name: "tcp://10.0.0.1:5432"}, Settings) == []
    assert find_unknown_variables({name: "5432"}, Settings) == [
        f"{name} is not a setting. docs/settings.md lists all of them"
    ]


def test_every_misspelt_variable_is_named() -> None:
    given = {"PAGEFAULT_PROT": "1", "PAGEFAULT_HOTS": "a", "PAGEFAULT_PORT": "1"}
    said = find_unknown_variables(given, Settings)
    assert said == [
        "PAGEFAULT_HOTS is not a setting. Did you mean PAGEFAULT_HOST?",
        "PAGEFAULT_PROT is not a setting. Did you mean PAGEFAULT_PORT?",
    ]


@pytest.mark.promise(
    "security.md#settings",
    (
        "A list written as JSON, an origin with a path, a wildcard, or a URL as a host is "
        "refused, with what to write instead"
    ),
    kept_by="app/config/setting_values.py",
    tried="33 values",
)
@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PAGEFAULT_CORS_ORIGINS", '["http://a.test"]', "write http://a.test"),
        ("PAGEFAULT_CORS_ORIGINS", "['http://a.test', 'http://b.test']", "http://a.test,http://b"),
        ("PAGEFAULT_CORS_ORIGINS", '"http://a.test"', "write http://a.test"),
        ("PAGEFAULT_CORS_ORIGINS", "[]", "leave the variable out"),
        ("PAGEFAULT_CORS_ORIGINS", "*", "every origin (`*`) cannot be allowed"),
        ("PAGEFAULT_CORS_ORIGINS", "https://*.a.test", "is not an origin such as"),
        ("PAGEFAULT_CORS_ORIGINS", "null", "is not an origin such as"),
        ("PAGEFAULT_CORS_ORIGINS", "a.test", "with its scheme and without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "localhost:3000", "with its scheme and without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://a.test/path", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://a.test//", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://a.test?x", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://u@a.test", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://a.test:0", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://a.test:99999", "Port out of range"),
        ("PAGEFAULT_CORS_ORIGINS", "https://0x7f.1", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "https://m\u00fcnchen.test", "without a path"),
        ("PAGEFAULT_CORS_ORIGINS", "ws://a.test", "is not an origin"),
        ("PAGEFAULT_CORS_ORIGINS", "http://a.test http://b.test", "is not an origin"),
        ("PAGEFAULT_ALLOWED_HOSTS", '["box"]', "write box"),
        ("PAGEFAULT_ALLOWED_HOSTS", "http://box:8000/", "write box:8000, without scheme and path"),
        ("PAGEFAULT_ALLOWED_HOSTS", "box/path", "write box, without scheme and path"),
        ("PAGEFAULT_ALLOWED_HOSTS", "*.a.test", "there are no wildcards"),
        ("PAGEFAULT_ALLOWED_HOSTS", "fe80::1", "write [fe80::1]"),
        ("PAGEFAULT_ALLOWED_HOSTS", "box:x", "is not a host name"),
        ("PAGEFAULT_ALLOWED_HOSTS", "box:99999", "is not a host name"),
        ("PAGEFAULT_ALLOWED_HOSTS", "b ox", "is not a host name"),
        ("PAGEFAULT_ALLOWED_HOSTS", "u@box", "is not a host name"),
        ("PAGEFAULT_ALLOWED_HOSTS", "2130706433", "is not a host name"),
        ("PAGEFAULT_FETCH__ALLOW", '["files.internal"]', "write files.internal"),
        ("PAGEFAULT_FETCH__ALLOW", "http://files.internal:9000/a", "write files.internal:9000"),
        ("PAGEFAULT_FETCH__ALLOW", "*.internal", "there are no wildcards"),
        ("PAGEFAULT_PORT", "tcp://10.0.0.1:8000", "enableServiceLinks: false"),
    ],
)
def test_value_of_another_spelling_is_refused_with_the_right_one(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, said: str
) -> None:
    sentence = refusal(monkeypatch, name, value)
    assert sentence.startswith(f"{name}: ")
    assert said in sentence


@pytest.mark.promise(
    "security.md#settings",
    "No error about a setting repeats a secret",
    kept_by="app/config/settings.py",
    tried="2 values",
)
def test_secret_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "0123456789abcdef" * 4
    for value in (f'["k1:{secret}"]', secret):
        monkeypatch.setenv("PAGEFAULT_SIGNING_KEYS", value)
        with pytest.raises(ValidationError) as refused:
            Settings()
        assert secret not in str(refused.value)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("0" * 64, "key 1 has no id: write `k1:` before its secret"),
        (":" + "0" * 64, "key 1 has no id: write `k1:` before its secret"),
        (
            "k1:SECRET",
            "the secret of key 1 has 6 characters and needs 32 or more: `openssl rand -hex 32` "
            "makes one",
        ),
        (
            f"k2:{'0' * 32},k1:{'0' * 31}",
            "the secret of key 2 has 31 characters and needs 32 or more: `openssl rand -hex 32` "
            "makes one",
        ),
    ],
)
def test_signing_key_that_is_refused_is_named(
    monkeypatch: pytest.MonkeyPatch, value: str, sentence: str
) -> None:
    said = refusal(monkeypatch, "PAGEFAULT_SIGNING_KEYS", value)
    assert said == f"PAGEFAULT_SIGNING_KEYS: {sentence}"


@pytest.mark.parametrize(
    ("value", "taken"),
    [
        ("https://a.test", ("https://a.test",)),
        (" https://A.test/ , http://b.test:80", ("https://a.test", "http://b.test")),
        ("https://a.test:443,https://a.test:80", ("https://a.test", "https://a.test:80")),
        ("http://localhost:3000", ("http://localhost:3000",)),
        ("http://127.0.0.1:3000", ("http://127.0.0.1:3000",)),
        ("http://[::1]:3000", ("http://[::1]:3000",)),
        ("chrome-extension://abcdefghijklmnop", ("chrome-extension://abcdefghijklmnop",)),
        ("", ()),
        (",", ()),
    ],
)
def test_origins_are_kept_as_browsers_spell_them(
    monkeypatch: pytest.MonkeyPatch, value: str, taken: tuple[str, ...]
) -> None:
    monkeypatch.setenv("PAGEFAULT_CORS_ORIGINS", value)
    assert Settings().cors_origins == taken


def test_hosts_are_kept_as_browsers_spell_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "PAGEFAULT_ALLOWED_HOSTS", "Box, my_box.internal:9000,a.test.,[::2]:1,10.0.0.1"
    )
    monkeypatch.setenv("PAGEFAULT_FETCH__ALLOW", "[::1]:9000,::1,files.internal")
    settings = Settings()
    assert settings.allowed_hosts == (
        "box",
        "my_box.internal:9000",
        "a.test",
        "[::2]:1",
        "10.0.0.1",
    )
    assert settings.fetch.allow == ("[::1]:9000", "::1", "files.internal")


def test_hosts_are_judged_without_keys_and_where_they_are_listed() -> None:
    public = Settings(public_url="https://media.example.com")
    names = {"media.example.com", "media.example.com:443", "media.example.com:"}
    spelled = frozenset(names | {name.replace(".com", ".com.") for name in names})
    keyed = public.model_copy(update={"auth": "api-key"})
    listed = keyed.model_copy(update={"allowed_hosts": ("box",)})
    assert (Settings().accepted_hosts, public.accepted_hosts) == (frozenset(), spelled)
    assert (keyed.accepted_hosts, listed.accepted_hosts) == (None, spelled | {"box"})
