"""OpenTelemetry's conventions for generative AI: parts of messages that answer calls."""

from pagefault_dialects.dialects.envelope import Dialect, Envelope, Wrapper
from pagefault_dialects.dialects.shapes import anything, items, one_of, shape, string


def _response(member: str) -> Envelope:
    return Envelope(
        marks=(("type", "tool_call_response"),),
        shape=shape(
            {"type": one_of("tool_call_response"), "id": string, member: anything},
            nullable=("id", member),
        ),
        contents=((member,),),
        call_id=("id",),
    )


DIALECT = Dialect(
    "otel-genai",
    (
        _response("response"),
        # Its name in earlier versions of the convention.
        _response("result"),
        Wrapper(
            marks=(("role", "tool"),),
            shape=shape(
                {"role": one_of("tool"), "parts": items}, {"name": string, "finish_reason": string}
            ),
            inner="parts",
            label="message",
        ),
    ),
)
