"""Settings of who sends content: what makes no sense is refused when the service starts."""

import anyio
import pytest
from pydantic import SecretStr, ValidationError

from app.config.settings import BlobSettings, ContentSettings, Settings
from app.features import open_services
from app.wiring.startup_errors import SettingError

BUCKET = BlobSettings(url="s3://bucket", s3_endpoint="http://127.0.0.1:9")
SIGNED = BlobSettings(
    url="s3://bucket",
    s3_endpoint="http://127.0.0.1:9",
    s3_access_key_id=SecretStr("id"),
    s3_secret_access_key=SecretStr("secret"),
)


@pytest.mark.parametrize(
    ("content", "blobs", "named"),
    [
        (ContentSettings(accel_prefix="/_blobs/"), SIGNED, "PAGEFAULT_CONTENT__ACCEL_PREFIX"),
        (ContentSettings(redirect_bytes=1), BlobSettings(), "PAGEFAULT_BLOBS__URL"),
        (ContentSettings(redirect_bytes=1), BUCKET, "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY"),
    ],
)
def test_a_way_that_the_store_does_not_have_is_refused(
    settings: Settings, content: ContentSettings, blobs: BlobSettings, named: str
) -> None:
    wrong = settings.model_copy(update={"content": content, "blobs": blobs})

    async def start() -> None:
        async with open_services(wrong):
            pytest.fail("it started")

    with pytest.raises(SettingError, match=named):
        anyio.run(start)


@pytest.mark.parametrize(
    "prefix",
    ["", "/", "_blobs/", "/_blobs", "/_blobs//", "/_bl obs/", "/_blobs/\r\nX: 1/", "/\u00fc/"],
)
def test_a_prefix_is_a_folder_of_plain_letters(prefix: str) -> None:
    with pytest.raises(ValidationError):
        ContentSettings(accel_prefix=prefix)
