"""Blocks of a message for its own provider: thoughts, files by id, searches and signatures.

A thought belongs to the provider of the dialect, or to the one that a framework names. It is kept
in the form of that provider's requests, beside the original.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.model.conversation import CACHE_MARK, ProviderBlock

SIGNED = frozenset({"gemini", "openai-compat"})
"""The dialects that accept the signature of a call."""
SIGNATURES = frozenset({"reasoning", "extra_content", "providerOptions", "providerMetadata"})
"""The members with the signature of a call, for the loss account."""

_OF_COMPAT = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking"})
_OF_OLLAMA = "thinking"
_OPTIONS = ("providerOptions", "providerMetadata", "callProviderMetadata")
_MODELS = ("model", "model_name", "modelVersion")
_TEXTS = ("thinking", "reasoning", "text", "content")
# Blocks that every dialect has. Only those with a file of the provider are for it alone.
_OF_ALL = frozenset(
    {
        *("text", "image", "audio", "video", "document", "file", "media", "object"),
        *("image_url", "input_audio", "input_text", "output_text", "input_image", "input_file"),
        *("tool_use", "tool_result", "tool-call", "tool-result", "tool_call", "function_call"),
        *("function_call_output", "toolUse", "toolResult", "functionCall", "functionResponse"),
        *("inlineData", "inline_data", "function_response", "thinking", "reasoning", "refusal"),
        *("json", "resource", "resource_link", "role", "content", "name", "args", "id", "thought"),
        *("thoughtSignature", "thought_signature"),
    }
)
_OF_FILES = frozenset({"file_id", "fileId", "s3Location", "fileUri", "file_uri", "content"})
_BODIES = frozenset({"text", "blob"})
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9_-]+")
_GONE = " What was said before it is gone."
_UNKNOWN = ""


def thought_block(block: JsonObject, pointer: str) -> ProviderBlock:
    """Return the block of a thought, which is kept for its provider."""
    reason = "Only the model that thought it takes it back."
    return ProviderBlock(pointer, {_UNKNOWN: block}, "reasoning", "reasoning", reason)


def cache_mark(block: JsonObject, pointer: str) -> ProviderBlock:
    """Return the block of a mark for the cache of its provider."""
    reason = "It marks what is to be cached."
    return ProviderBlock(pointer, {_UNKNOWN: block}, "cachePoint", CACHE_MARK, reason)


def thought_member(name: str, value: JsonValue, pointer: str) -> ProviderBlock | None:
    """Return the block of a thought beside the content; `None` if no request has such a member."""
    if name not in _OF_COMPAT:
        return None
    reason = "Only the model that thought it takes it back."
    forms: dict[str, JsonObject] = {"openai-compat": {name: value}}
    if name == _OF_OLLAMA:
        forms["ollama"] = {name: value}
    return ProviderBlock(pointer, forms, "reasoning", "reasoning", reason)


def own_block(block: JsonObject, pointer: str, kind: str, words: str) -> ProviderBlock:
    """Return a block that only its own provider has, with words for all others."""
    reason = f"Other dialects have no place for `{kind}`."
    if "compaction" in kind:
        reason += _GONE
    return ProviderBlock(pointer, {_UNKNOWN: block}, kind, "no-place", reason, words)


def is_kept(kind: str, block: JsonObject) -> bool:
    """Return whether a block is one that its provider accepts, and no damaged common one."""
    if kind not in _OF_ALL:
        is_of_kind = "type" in block or _is_object(block.get(kind))
        return is_of_kind and _KIND.fullmatch(kind) is not None
    inner = block.get(kind)
    if kind == "resource_link":
        return block.keys() >= {"uri", "name"}
    if kind == "resource":
        return _is_object(inner) and "uri" in inner and not _BODIES.isdisjoint(inner)
    holders = (block, inner, *(item.get("source") for item in (block, inner) if _is_object(item)))
    return any(_is_object(holder) and not _OF_FILES.isdisjoint(holder) for holder in holders)


def _is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def model_of(message: Mapping[str, Any]) -> str | None:
    """Return the model that wrote a message, if it is known."""
    metadata = message.get("response_metadata")
    holders = (message, metadata if isinstance(metadata, dict) else {})
    names = (holder.get(name) for holder in holders for name in _MODELS)
    return next((name for name in names if isinstance(name, str) and name), None)


def thought_signature(call: Mapping[str, Any]) -> str | None:
    """Return Gemini's signature of a call, from the members of any dialect."""
    extra = call.get("extra_content")
    google = extra.get("google") if isinstance(extra, dict) else None
    holders = [call, google, *(_options(call, "google", name) for name in _OPTIONS)]
    names = ("thoughtSignature", "thought_signature")
    values = (holder.get(name) for holder in holders if isinstance(holder, dict) for name in names)
    return next((item for item in values if isinstance(item, str) and item), None)


def forms_of_provider(block: JsonObject, message: Mapping[str, Any]) -> dict[str, JsonObject]:
    """Return a thought of a framework in the form of the provider that it names."""
    text = next((value for name in _TEXTS if isinstance(value := block.get(name), str)), "")
    metadata = message.get("response_metadata")
    providers = [block.get("provider_name")]
    providers.append(metadata.get("model_provider") if isinstance(metadata, dict) else None)
    signature = block.get("signature")
    for name in _OPTIONS:
        if isinstance(of_anthropic := _options(block, "anthropic", name), dict):
            providers.append("anthropic")
            signature = of_anthropic.get("signature")
    extras = block.get("extras")
    if signature is None and isinstance(extras, dict):
        signature = extras.get("signature")
    if "anthropic" in providers and isinstance(signature, str):
        return {"anthropic": {"type": "thinking", "thinking": text, "signature": signature}}
    return {}


def is_signed(thought: JsonObject | None) -> bool:
    """Return whether a thought has a signature of Anthropic."""
    return bool(thought and (thought.get("signature") or thought.get("data")))


def _options(holder: Mapping[str, Any], provider: str, name: str) -> JsonValue:
    options = holder.get(name)
    return options.get(provider) if isinstance(options, dict) else None
