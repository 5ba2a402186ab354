"""The Agent2Agent protocol: artifacts, of 0.3 and of 1.0."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper
from pagefault_dialects.dialects.shapes import flag, items, objects, one_of, record, shape, string
from pagefault_dialects.dialects.tool_output import BlockForm

_ARTIFACT = Envelope(
    marks=("artifactId", "artifact_id"),
    shape=shape(
        {"artifactId": string, "parts": objects},
        {"name": string, "description": string, "metadata": record, "extensions": items},
    ),
    contents=(("parts",),),
    reading="content",
)

DIALECT = Dialect(
    "a2a",
    (
        _ARTIFACT,
        Wrapper(
            marks=("artifact",),
            shape=shape(
                {"taskId": string, "contextId": string, "artifact": record},
                {
                    "kind": one_of("artifact-update"),
                    "append": flag,
                    "lastChunk": flag,
                    "metadata": record,
                },
            ),
            inner="artifact",
            label="event",
            envelope=_ARTIFACT,
            frame=frozenset({"kind"}),
        ),
    ),
    (
        BlockForm((("text",),), "text"),
        BlockForm((("text",),), "text", ("kind", "text")),
        BlockForm(
            (("file", "bytes"), ("file", "uri")), "media", ("kind", "file"), name=("file", "name")
        ),
        BlockForm((("data",),), "json", ("kind", "data")),
        BlockForm((("raw",),), "media"),
        BlockForm((("url",),), "media"),
        BlockForm((("data",),), "json"),
    ),
    has_closed_content=True,
)
