"""Why something failed, in words: of an error that others are wrapped around, the innermost."""

from pagefault_dialects.errors import PagefaultError


def reason_of(error: BaseException) -> str:
    """Return what an error says; of several at once, what the first says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, PagefaultError):
        return error.detail
    # What says nothing was not expected; its kind is all there is to go by.
    return str(error) or f"an error of the kind {type(error).__name__}"
