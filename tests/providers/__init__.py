"""What each provider's own types, and its rules beside them, say of a list of messages."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from tests.providers.anthropic_types import check_anthropic
from tests.providers.bedrock_types import check_bedrock
from tests.providers.gemini_types import check_gemini
from tests.providers.langchain_types import check_langchain
from tests.providers.mcp_types import check_mcp
from tests.providers.mistral_types import check_mistral
from tests.providers.ollama_types import check_ollama
from tests.providers.openai_types import (
    check_openai_chat,
    check_openai_compat,
    check_openai_responses,
)
from tests.providers.otel_genai_types import check_otel_genai
from tests.providers.pydantic_ai_types import check_pydantic_ai
from tests.providers.text_types import check_text
from tests.providers.vercel_types import check_vercel, check_vercel_6

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
