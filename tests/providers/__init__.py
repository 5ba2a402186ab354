"""Checks of lists of messages by the types of each provider, and by its further rules."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tests.providers.anthropic_types import check_anthropic, check_anthropic_types
from tests.providers.bedrock_types import check_bedrock, check_bedrock_types
from tests.providers.gemini_types import check_gemini, check_gemini_types
from tests.providers.langchain_types import check_langchain, check_langchain_types
from tests.providers.mcp_types import check_mcp, check_mcp_types
from tests.providers.mistral_types import check_mistral
from tests.providers.ollama_types import check_ollama
from tests.providers.openai_types import (
    check_openai_chat,
    check_openai_chat_types,
    check_openai_compat,
    check_openai_compat_types,
    check_openai_responses,
    check_openai_responses_types,
)
from tests.providers.otel_genai_types import check_otel_genai
from tests.providers.pydantic_ai_types import check_pydantic_ai
from tests.providers.text_types import check_text
from tests.providers.vercel_types import (
    check_vercel,
    check_vercel_6,
    check_vercel_6_types,
    check_vercel_types,
)

Check: TypeAlias = Callable[[list[dict[str, Any]]], None]

CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "openai-compat": check_openai_compat,
        "openai-chat": check_openai_chat,
        "openai-responses": check_openai_responses,
        "anthropic": check_anthropic,
        "gemini": check_gemini,
        "bedrock": check_bedrock,
        "mistral": check_mistral,
        "ollama": check_ollama,
        "mcp": check_mcp,
        "langchain": check_langchain,
        "vercel": check_vercel,
        "vercel-6": check_vercel_6,
        "pydantic-ai": check_pydantic_ai,
        "otel-genai": check_otel_genai,
        "text": check_text,
    }
)
"""By target: raises unless the provider takes the messages."""

TYPES: Mapping[str, Check] = MappingProxyType(
    {
        "openai-chat": check_openai_chat_types,
        "openai-responses": check_openai_responses_types,
        "anthropic": check_anthropic_types,
        "gemini": check_gemini_types,
        "bedrock": check_bedrock_types,
        "mcp": check_mcp_types,
        "langchain": check_langchain_types,
        "vercel": check_vercel_types,
        "vercel-6": check_vercel_6_types,
        "openai-compat": check_openai_compat_types,
        "mistral": check_mistral,
        "ollama": check_ollama,
        "pydantic-ai": check_pydantic_ai,
        "otel-genai": check_otel_genai,
    }
)
"""By target: raises unless the provider's own types accept the messages, whoever wrote them."""
