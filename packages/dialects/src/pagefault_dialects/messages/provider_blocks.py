"""Makes items of blocks that only one provider has: thoughts, files by id, searches, cache marks.

The `make_…` functions return a `ProviderBlock`. Its `forms` has the block in common form, under an
empty string in place of the dialect. Then `native_messages.add_provider_forms` replaces that by the
forms that the block has in requests of its provider.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeGuard

from pagefault_dialects.json.values import JsonObject, JsonValue
from pagefault_dialects.model.conversation import CACHE_MARK, ProviderBlock

DIALECTS_WITH_SIGNATURES = frozenset({"gemini", "openai-compat"})
"""The dialects that accept the signature of a call."""
SIGNATURE_MEMBERS = frozenset({"reasoning", "extra_content", "providerOptions", "providerMetadata"})
"""Members with the signature of a call, as notes of omitted members name them."""

# Members of a message with a thought, in requests of the dialect `openai-compat`.
_THOUGHT_MEMBERS = frozenset({"reasoning", "reasoning_content", "reasoning_details", "thinking"})
_OLLAMA_THOUGHT = "thinking"
# Members of Vercel's blocks with options, by the name of the provider.
_OPTION_NAMES = ("providerOptions", "providerMetadata", "callProviderMetadata")
_MODEL_NAMES = ("model", "model_name", "modelVersion")
_THOUGHT_TEXT_NAMES = ("thinking", "reasoning", "text", "content")
# Types of blocks that every dialect has. Such a block is for one provider only if it refers to a
# file there.
_COMMON_TYPES = frozenset(
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
# Members that name a file at the provider.
_FILE_MEMBERS = frozenset({"file_id", "fileId", "s3Location", "fileUri", "file_uri", "content"})
_RESOURCE_CONTENTS = frozenset({"text", "blob"})
_TYPE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]+")
_COMPACTION_REASON = " What was said before it is gone."
_THOUGHT_REASON = "Only the model that thought it takes it back."
# The dialect in `forms` until `add_provider_forms` sets it.
_UNKNOWN_DIALECT = ""


def make_thought_block(block: JsonObject, pointer: str) -> ProviderBlock:
    """Return the provider block of a thought."""
    forms = {_UNKNOWN_DIALECT: block}
    return ProviderBlock(pointer, forms, "reasoning", "reasoning", _THOUGHT_REASON)


def make_cache_mark(block: JsonObject, pointer: str) -> ProviderBlock:
    """Return the provider block of a mark for the cache of the provider."""
    reason = "It marks what is to be cached."
    return ProviderBlock(pointer, {_UNKNOWN_DIALECT: block}, "cachePoint", CACHE_MARK, reason)


def make_thought_member(name: str, value: JsonValue, pointer: str) -> ProviderBlock | None:
    """Return the provider block of a thought that is a member of the message, and not a block.

    Args:
        name: The name of the member.
        value: The value of the member.
        pointer: The pointer to the member.

    Returns:
        The block; `None` if requests have no member with this name.
    """
    if name not in _THOUGHT_MEMBERS:
        return None
    forms: dict[str, JsonObject] = {"openai-compat": {name: value}}
    if name == _OLLAMA_THOUGHT:
        forms["ollama"] = {name: value}
    return ProviderBlock(pointer, forms, "reasoning", "reasoning", _THOUGHT_REASON)


def make_provider_block(block: JsonObject, pointer: str, kind: str, words: str) -> ProviderBlock:
    """Return the provider block of a block that only one provider has.

    Args:
        block: The block.
        pointer: The pointer to the block.
        kind: The type of the block.
        words: The text that replaces the block for other providers.
    """
    reason = f"Other dialects have no place for `{kind}`."
    if "compaction" in kind:
        reason += _COMPACTION_REASON
    return ProviderBlock(pointer, {_UNKNOWN_DIALECT: block}, kind, "no-place", reason, words)


def is_provider_block(kind: str, block: JsonObject) -> bool:
    """Return whether a block that could not be read is one that only one provider has.

    Otherwise it is a damaged block of a type that every dialect has.
    """
    if kind not in _COMMON_TYPES:
        has_type = "type" in block or _is_object(block.get(kind))
        return has_type and _TYPE_NAME.fullmatch(kind) is not None
    inner = block.get(kind)
    if kind == "resource_link":
        return block.keys() >= {"uri", "name"}
    if kind == "resource":
        return _is_object(inner) and "uri" in inner and not _RESOURCE_CONTENTS.isdisjoint(inner)
    # A file at the provider is named in the block, in the object inside it, or in their `source`.
    objects = [item for item in (block, inner) if _is_object(item)]
    objects += [source for item in objects if _is_object(source := item.get("source"))]
    return any(not _FILE_MEMBERS.isdisjoint(item) for item in objects)


def _is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def find_model(message: Mapping[str, Any]) -> str | None:
    """Return the model that wrote a message, if the message names it."""
    metadata = message.get("response_metadata")
    objects = (message, metadata if isinstance(metadata, dict) else {})
    models = (item.get(name) for item in objects for name in _MODEL_NAMES)
    return next((model for model in models if isinstance(model, str) and model), None)


def find_call_signature(call: Mapping[str, Any]) -> str | None:
    """Return Gemini's signature of a call, which may be sent in any dialect; `None` without it."""
    google_options = (
        _find_options(call, "google", name) for name in ("extra_content", *_OPTION_NAMES)
    )
    objects = [item for item in (call, *google_options) if isinstance(item, dict)]
    names = ("thoughtSignature", "thought_signature")
    values = (item.get(name) for item in objects for name in names)
    return next((item for item in values if isinstance(item, str) and item), None)


def find_anthropic_form(block: JsonObject, message: Mapping[str, Any]) -> dict[str, JsonObject]:
    """Return the block that Anthropic's requests have for a thought in the form of a framework.

    Args:
        block: The thought in the form of the framework, such as LangChain or the Vercel AI SDK.
        message: The message, which may name the provider.

    Returns:
        A map from `anthropic` to the block; empty if the thought is not from Anthropic.
    """
    text = next(
        (value for name in _THOUGHT_TEXT_NAMES if isinstance(value := block.get(name), str)), ""
    )
    metadata = message.get("response_metadata")
    providers = [block.get("provider_name")]
    providers.append(metadata.get("model_provider") if isinstance(metadata, dict) else None)
    signature = block.get("signature")
    for name in _OPTION_NAMES:
        if isinstance(options := _find_options(block, "anthropic", name), dict):
            providers.append("anthropic")
            signature = options.get("signature")
    extras = block.get("extras")
    if signature is None and isinstance(extras, dict):
        signature = extras.get("signature")
    if "anthropic" in providers and isinstance(signature, str):
        return {"anthropic": {"type": "thinking", "thinking": text, "signature": signature}}
    return {}


def has_anthropic_signature(thought: JsonObject | None) -> bool:
    """Return whether a thought has Anthropic's signature, or is encrypted by Anthropic."""
    return bool(thought and (thought.get("signature") or thought.get("data")))


def _find_options(block: Mapping[str, Any], provider: str, name: str) -> JsonValue:
    """Return the value for a provider in the member of a block that has options of providers."""
    options = block.get(name)
    return options.get(provider) if isinstance(options, dict) else None
