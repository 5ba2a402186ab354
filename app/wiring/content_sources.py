"""Who sends stored bytes, by the settings."""

from app.config.settings import Settings
from app.services.resources.content_sources import OffloadRules
from app.wiring.startup_errors import SettingError


def offload_rules(settings: Settings) -> OffloadRules:
    """The configured rules.

    Raises:
        SettingError: They need another blob store, or keys to sign with.
    """
    content, blobs = settings.content, settings.blobs
    if content.accel_prefix is not None and blobs.url is not None:
        raise SettingError(
            "PAGEFAULT_CONTENT__ACCEL_PREFIX lets nginx read files, and PAGEFAULT_BLOBS__URL keeps "
            "no files: unset one of them."
        )
    if content.redirect_bytes is not None and blobs.url is None:
        raise SettingError(
            "PAGEFAULT_CONTENT__REDIRECT_BYTES sends callers to an S3 store: set "
            "PAGEFAULT_BLOBS__URL too."
        )
    if content.redirect_bytes is not None and not blobs.s3_secret_access_key:
        # What roles and the environment give is seen by the client of the store only.
        raise SettingError(
            "PAGEFAULT_CONTENT__REDIRECT_BYTES needs PAGEFAULT_BLOBS__S3_ACCESS_KEY_ID and "
            "PAGEFAULT_BLOBS__S3_SECRET_ACCESS_KEY: no other keys can sign how the store answers."
        )
    return OffloadRules(
        proxy_prefix=content.accel_prefix,
        redirect_bytes=content.redirect_bytes,
        redirect_seconds=content.redirect_seconds,
    )
