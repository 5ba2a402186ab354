"""The targets: one row each. A new target is a module with a `write`, and a row here."""

from collections.abc import Mapping
from types import MappingProxyType

from app.models.conversation import TurnRole
from app.rendering.targets import (
    anthropic,
    bedrock,
    gemini,
    langchain,
    mcp,
    openai_chat,
    openai_compat,
    openai_responses,
    text,
    vercel,
)
from app.rendering.targets.profile import IdRule, MediaClass, MediaRule, Profile

_MB = 1_000_000
_HTTPS = ("https",)
_HTTP = ("https", "http")
_OPENAI_IMAGES = MediaRule(
    frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"}),
    most_base64=20 * _MB,
    most=500,
    addresses=_HTTPS,
)
_OPENAI_NAMES = IdRule(r"A-Za-z0-9_-", 64)
_READABLE = IdRule(first=r"\S")
_PDF = frozenset({"application/pdf"})
# What is no provider itself hands media on to one, whose limits it does not know.
_ANYTHING = MediaRule(frozenset({"*/*"}), addresses=_HTTP)
_HANDED_ON: Mapping[MediaClass, MediaRule] = MappingProxyType(
    {"image": _ANYTHING, "audio": _ANYTHING, "video": _ANYTHING, "document": _ANYTHING}
)
_EVERYBODY: frozenset[TurnRole] = frozenset({"user", "tool", "assistant"})

_ROWS = (
    Profile(
        "openai-compat",
        "2026-11-23",
        "specification 000 and its servers",
        openai_compat.write,
        media={"image": _OPENAI_IMAGES},
        request_bytes=50 * _MB,
        tool_name=_OPENAI_NAMES,
        default_detail="low",
    ),
    Profile(
        "openai-chat",
        "2026-11-23",
        "types of openai 3.54, documentation of November 2026",
        openai_chat.write,
        media={
            "image": _OPENAI_IMAGES,
            "audio": MediaRule(frozenset({"audio/wav", "audio/mpeg"})),
            "document": MediaRule(_PDF),
        },
        request_bytes=50 * _MB,
        call_id=IdRule(r"A-Za-z0-9_.:-", 40),
        tool_name=_OPENAI_NAMES,
    ),
    Profile(
        "openai-responses",
        "2026-11-23",
        "types of openai 3.54, documentation of November 2026",
        openai_responses.write,
        media={"image": _OPENAI_IMAGES, "document": MediaRule(_PDF, addresses=_HTTPS)},
        request_bytes=50 * _MB,
        call_id=IdRule(r"A-Za-z0-9_.:-", 64),
        tool_name=_OPENAI_NAMES,
    ),
    Profile(
        "anthropic",
        "2026-11-23",
        "types of anthropic 2.12, documentation of November 2026",
        anthropic.write,
        media={
            "image": MediaRule(
                frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"}),
                most_base64=5 * _MB,
                most_side=8_000,
                crowd=(20, 2_000),
                addresses=_HTTPS,
            ),
            "document": MediaRule(_PDF, most_base64=32 * _MB, addresses=_HTTPS),
        },
        request_bytes=32 * _MB,
        call_id=IdRule(r"a-zA-Z0-9_-", 64),
        tool_name=IdRule(r"a-zA-Z0-9_-", 128),
        has_error_flag=True,
        has_system_apart=True,
        starts_with_user=True,
    ),
    Profile(
        "gemini",
        "2026-11-23",
        "types of google-genai 3.4, documentation of November 2026",
        gemini.write,
        media={
            "image": MediaRule(frozenset({"image/png", "image/jpeg", "image/webp"})),
            "document": MediaRule(_PDF | {"text/plain"}, most_base64=50 * _MB),
            "audio": MediaRule(
                frozenset(
                    {
                        *("audio/wav", "audio/mpeg", "audio/aiff", "audio/aac"),
                        *("audio/ogg", "audio/flac"),
                    }
                )
            ),
            "video": MediaRule(
                frozenset(
                    {
                        *("video/mp4", "video/mpeg", "video/quicktime", "video/x-msvideo"),
                        *("video/x-flv", "video/webm", "video/3gpp"),
                    }
                )
            ),
        },
        request_bytes=100 * _MB,
        call_id=IdRule(r"A-Za-z0-9_.:-", 64),
        tool_name=IdRule(r"a-zA-Z0-9_.:-", 64, first=r"[a-zA-Z_]"),
        has_error_flag=True,
        has_system_apart=True,
        starts_with_user=True,
    ),
    Profile(
        "bedrock",
        "2026-11-23",
        "service model of botocore 1.44, documentation of November 2026",
        bedrock.write,
        media={
            "image": MediaRule(
                frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"}),
                most_base64=5 * _MB,
                most_side=8_000,
                most=20,
            ),
            "document": MediaRule(
                frozenset(
                    {
                        *("application/pdf", "text/csv", "text/html", "text/plain"),
                        *("text/markdown", "application/msword", "application/vnd.ms-excel"),
                        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                    }
                ),
                most_base64=6 * _MB,
                most=5,
            ),
            "audio": MediaRule(
                frozenset(
                    {
                        *("audio/wav", "audio/mpeg", "audio/aac", "audio/flac", "audio/ogg"),
                        *("audio/mp4", "audio/webm", "audio/opus", "audio/x-matroska"),
                    }
                ),
                most_base64=33 * _MB,
            ),
            "video": MediaRule(
                frozenset(
                    {
                        *("video/mp4", "video/quicktime", "video/x-matroska", "video/webm"),
                        *("video/x-flv", "video/mpeg", "video/x-ms-wmv", "video/3gpp"),
                    }
                ),
                most_base64=33 * _MB,
            ),
        },
        call_id=IdRule(r"a-zA-Z0-9_.:-", 64),
        tool_name=IdRule(r"a-zA-Z0-9_-", 64),
        has_error_flag=True,
        has_system_apart=True,
        starts_with_user=True,
    ),
    Profile(
        "mcp",
        "2026-11-23",
        "types of mcp 2.3, revision 2026-07-28",
        mcp.write,
        media=_HANDED_ON,
        media_roles=_EVERYBODY,
        has_error_flag=True,
        has_system_apart=True,
        takes_structured=mcp.takes_structured,
    ),
    Profile(
        "langchain",
        "2026-11-23",
        "types of langchain-core 1.7",
        langchain.write,
        media=_HANDED_ON,
        media_roles=_EVERYBODY,
        has_error_flag=True,
    ),
    Profile(
        "vercel",
        "2026-11-23",
        "types of ai 7",
        vercel.write,
        media=_HANDED_ON,
        media_roles=_EVERYBODY,
        has_error_flag=True,
        has_system_apart=True,
    ),
    Profile(
        "vercel-6",
        "2026-11-23",
        "types of ai 6",
        vercel.write_6,
        media=_HANDED_ON,
        media_roles=_EVERYBODY,
        has_error_flag=True,
        has_system_apart=True,
    ),
    Profile(
        "text",
        "2026-11-23",
        "people, and models that take nothing but text",
        text.write,
        call_id=_READABLE,
        tool_name=_READABLE,
        text_file_chars=0,
    ),
)

TARGETS: Mapping[str, Profile] = MappingProxyType({row.target: row for row in _ROWS})
"""Every target, by its name, in the order of the documentation."""
