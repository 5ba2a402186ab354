"""Google's Agent Development Kit: events around Gemini's Content."""

from pagefault_dialects.dialects.envelope import Dialect, Wrapper
from pagefault_dialects.dialects.shapes import record, shape, string

_BESIDE = (
    *("id", "timestamp", "actions", "output", "nodeInfo", "branch", "isolationScope"),
    *("longRunningToolIds", "partial", "turnComplete", "turnCompleteReason", "interrupted"),
    *("interactionStatus", "interactionId", "environmentId", "finishReason", "errorCode"),
    *("errorMessage", "modelVersion", "groundingMetadata", "customMetadata", "usageMetadata"),
    *("liveSessionResumptionUpdate", "liveSessionId", "goAway", "voiceActivity"),
    *("inputTranscription", "outputTranscription", "avgLogprobs", "logprobsResult"),
    *("cacheMetadata", "citationMetadata"),
)
DIALECT = Dialect(
    "adk",
    (
        Wrapper(
            marks=("invocationId", "invocation_id"),
            shape=shape({"invocationId": string, "author": string, "content": record}, _BESIDE),
            inner="content",
            label="event",
            renames=True,
        ),
    ),
)
