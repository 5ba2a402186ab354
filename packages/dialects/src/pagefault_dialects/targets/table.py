"""The table of targets: a row for each, with its profile.

A new target is a module with a function `write`, and a row here.
"""

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType

from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.model.conversation import TurnRole
from pagefault_dialects.model.render_options import RenderOptions
from pagefault_dialects.targets import (
    anthropic,
    bedrock,
    gemini,
    langchain,
    mcp,
    mistral,
    ollama,
    openai,
    otel_genai,
    pydantic_ai,
    vercel,
)
from pagefault_dialects.targets.media_lines import write_text
from pagefault_dialects.targets.profile import (
    IdRule,
    MediaClass,
    MediaRule,
    Profile,
    limit_image_size,
)
from pagefault_dialects.targets.tokens import (
    TokenRule,
    tokens_by_tiles_of_512,
    tokens_by_tiles_of_768,
)


def _make_types(family: str, *names: str) -> frozenset[str]:
    return frozenset(f"{family}/{name}" for name in names)


_MB = 1_000_000
_HTTPS = ("https",)
_HTTP = ("https", "http")
_IMAGES = _make_types("image", "png", "jpeg", "webp", "gif")
_OPENAI_IMAGES = MediaRule(
    _IMAGES,
    max_base64=20 * _MB,
    max_count=500,
    addresses=_HTTPS,
)
_OPENAI_NAMES = IdRule(r"A-Za-z0-9_-", 64)
# The rule of the target `text`, whose names may have any characters.
_ANY_NAME = IdRule(first=r"\S")
_OPENAI_TOKENS = TokenRule(tokens_by_tiles_of_512)
_GOOGLE_TOKENS = TokenRule(tokens_by_tiles_of_768)
# Anthropic does not publish its tokenizer, which counts more tokens in most texts than ours.
_ANTHROPIC_TOKENS = TokenRule(text_percent=120)
_PDF = frozenset({"application/pdf"})
# Frameworks forward media to a provider whose limits are unknown here.
_ANY_TYPE = MediaRule(frozenset({"*/*"}), addresses=_HTTP)
_ANY_MEDIA: Mapping[MediaClass, MediaRule] = MappingProxyType(
    {"image": _ANY_TYPE, "audio": _ANY_TYPE, "video": _ANY_TYPE, "document": _ANY_TYPE}
)
_ALL_ROLES: frozenset[TurnRole] = frozenset({"user", "tool", "assistant"})

# Common values of several targets.
_openai_profile = partial(
    Profile, tokens=_OPENAI_TOKENS, request_bytes=50 * _MB, tool_name=_OPENAI_NAMES
)
_strict_profile = partial(
    Profile,
    has_error_flag=True,
    has_separate_system=True,
    starts_with_user=True,
    allows_blank_texts=False,
)
_framework_profile = partial(Profile, media=_ANY_MEDIA, media_roles=_ALL_ROLES, has_error_flag=True)

_ROWS = (
    _openai_profile(
        "openai-compat",
        "specification 000 and its servers",
        openai.write_compat,
        dialect="openai-compat",
        accepts_block=openai.accepts_compat_block,
        media={"image": _OPENAI_IMAGES},
        default_detail="low",
    ),
    _openai_profile(
        "openai-chat",
        "types of openai 3.54, documentation of November 2026",
        openai.write_chat,
        dialect="openai-chat",
        as_request=openai.as_chat_request,
        has_original_detail=True,
        accepts_block=openai.accepts_chat_block,
        media={
            "image": _OPENAI_IMAGES,
            "audio": MediaRule(frozenset({"audio/wav", "audio/mpeg"})),
            "document": MediaRule(_PDF),
        },
        call_id=IdRule(r"A-Za-z0-9_.:-", 40),
    ),
    _openai_profile(
        "openai-responses",
        "types of openai 3.54, documentation of November 2026",
        openai.write_responses,
        dialect="openai-responses",
        as_request=openai.as_responses_request,
        has_original_detail=True,
        accepts_block=openai.accepts_item,
        continues_thoughts=True,
        media={"image": _OPENAI_IMAGES, "document": MediaRule(_PDF, addresses=_HTTPS)},
        call_id=IdRule(r"A-Za-z0-9_.:-", 64),
    ),
    _strict_profile(
        "anthropic",
        "types of anthropic 2.12, documentation of November 2026",
        anthropic.write,
        dialect="anthropic",
        native_types=frozenset({"text/plain"}),
        as_request=anthropic.as_request,
        accepts_block=anthropic.accepts_block,
        continues_thoughts=True,
        mark_cached=anthropic.mark_cached,
        tokens=_ANTHROPIC_TOKENS,
        media={
            "image": MediaRule(
                _IMAGES,
                max_base64=5 * _MB,
                max_side=8_000,
                min_side=32,
                max_side_of_many=(20, 2_000),
                addresses=_HTTPS,
            ),
            "document": MediaRule(_PDF, max_base64=32 * _MB, addresses=_HTTPS),
        },
        request_bytes=32 * _MB,
        call_id=IdRule(r"a-zA-Z0-9_-", 64),
        tool_name=IdRule(r"a-zA-Z0-9_-", 128),
    ),
    _strict_profile(
        "gemini",
        "types of google-genai 3.4, documentation of November 2026",
        gemini.write,
        dialect="gemini",
        as_request=gemini.as_request,
        accepts_block=gemini.accepts_part,
        ids_are_optional=True,
        tokens=_GOOGLE_TOKENS,
        media={
            "image": MediaRule(_make_types("image", "png", "jpeg", "webp")),
            "document": MediaRule(_PDF | {"text/plain"}, max_base64=50 * _MB),
            "audio": MediaRule(
                _make_types("audio", "wav", "mpeg", "aiff", "aac", "ogg", "flac"),
            ),
            "video": MediaRule(
                _make_types(
                    "video", "mp4", "mpeg", "quicktime", "x-msvideo", "x-flv", "webm", "3gpp"
                )
            ),
        },
        request_bytes=100 * _MB,
        call_id=IdRule(r"A-Za-z0-9_.:-", 64),
        tool_name=IdRule(r"a-zA-Z0-9_.:-", 64, first=r"[a-zA-Z_]"),
    ),
    _strict_profile(
        "bedrock",
        "service model of botocore 1.44, documentation of November 2026",
        bedrock.write,
        dialect="bedrock",
        as_request=bedrock.as_request,
        accepts_block=bedrock.accepts_block,
        mark_cached=bedrock.mark_cached,
        tokens=_ANTHROPIC_TOKENS,
        media={
            "image": MediaRule(
                frozenset(bedrock.FORMATS["image"]),
                max_base64=5 * _MB,
                max_side=8_000,
                max_count=20,
            ),
            "document": MediaRule(
                frozenset(bedrock.FORMATS["document"]), max_base64=6 * _MB, max_count=5
            ),
            "audio": MediaRule(frozenset(bedrock.FORMATS["audio"]), max_base64=33 * _MB),
            "video": MediaRule(frozenset(bedrock.FORMATS["video"]), max_base64=33 * _MB),
        },
        call_id=IdRule(r"a-zA-Z0-9_.:-", 64),
        tool_name=IdRule(r"a-zA-Z0-9_-", 64),
    ),
    Profile(
        "mistral",
        "types of mistralai 3.7, rules of mistral-common",
        mistral.write,
        dialect="mistral",
        accepts_block=mistral.accepts_block,
        media={
            "image": MediaRule(_IMAGES, max_base64=13 * _MB, max_count=8, addresses=_HTTPS),
            "document": MediaRule(_PDF, addresses=_HTTPS),
            "audio": MediaRule(_make_types("audio", "wav", "mpeg")),
        },
        has_system_first=True,
        has_assistant_after_results=True,
        call_id=IdRule(r"a-zA-Z0-9", 9, exact_chars=9),
        tool_name=_OPENAI_NAMES,
    ),
    Profile(
        "ollama",
        "types of ollama 0.6, documentation of November 2026",
        ollama.write,
        dialect="ollama",
        accepts_block=ollama.accepts_block,
        media={"image": MediaRule(_make_types("image", "png", "jpeg", "webp"))},
    ),
    _framework_profile(
        "mcp",
        "types of mcp 2.3, revision 2026-07-28",
        mcp.write,
        dialect="mcp",
        as_request=mcp.as_request,
        accepts_block=mcp.accepts_block,
        has_separate_system=True,
        accepts_structured=mcp.accepts_structured,
        has_resources=True,
    ),
    _framework_profile(
        "langchain",
        "types of langchain-core 1.7",
        langchain.write,
        dialect="langchain",
        as_request=langchain.as_request,
        accepts_block=langchain.accepts_block,
    ),
    _framework_profile(
        "vercel",
        "types of ai 7",
        vercel.write,
        dialect="vercel",
        as_request=vercel.as_request,
        accepts_block=vercel.accepts_part,
        has_separate_system=True,
    ),
    _framework_profile(
        "vercel-6",
        "types of ai 6",
        vercel.write_6,
        dialect="vercel",
        as_request=vercel.as_request_6,
        accepts_block=vercel.accepts_part_6,
        has_separate_system=True,
    ),
    _framework_profile(
        "pydantic-ai",
        "types of pydantic-ai 2.68",
        pydantic_ai.write,
        dialect="pydantic-ai",
        accepts_block=pydantic_ai.accepts_block,
        has_original_detail=True,
        address_roles=frozenset({"user", "tool"}),
    ),
    Profile(
        "otel-genai",
        "semantic conventions for generative AI, types of opentelemetry-util-genai 1.3b0",
        otel_genai.write,
        dialect="otel-genai",
        accepts_block=otel_genai.accepts_block,
        media=_ANY_MEDIA,
        media_roles=_ALL_ROLES,
    ),
    Profile(
        "text",
        "people, and models that take nothing but text",
        write_text,
        call_id=_ANY_NAME,
        tool_name=_ANY_NAME,
        text_file_chars=0,
    ),
)

TARGETS: Mapping[str, Profile] = MappingProxyType({row.target: row for row in _ROWS})
"""The profile of each target by name, in the order of the documentation."""


def find_profile(target: str, options: RenderOptions) -> Profile:
    """Return the profile of a target, narrowed to the requested image size and revision of MCP.

    Raises:
        InvalidPayloadError: The target is unknown.
    """
    profile = TARGETS.get(target)
    if profile is None:
        raise InvalidPayloadError(
            "There is no such target.",
            faults=[Fault("/target", f"must be one of {', '.join(TARGETS)}")],
        )
    if target == "mcp":
        profile = mcp.narrow_to_revision(profile, options.protocol_version)
    return limit_image_size(profile, options)
