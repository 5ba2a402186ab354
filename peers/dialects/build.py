"""Builds what hosts send with the classes of real packages, and dumps it as their users do.

Run in an environment with the packages of `requirements-dialects.lock`:

    python build.py tool_results|messages|histories [DIALECT…]

Each line that it prints is a result of a tool, a message or a whole history as a host sends it, and
what a model may be told of it: the texts exactly, the media by the beginning of their digests, and
either whether the tool failed and which call of which tool that answers, or who says the message,
its calls and its answers. Each object is built with every optional member alone, with all, and with
none, and is dumped in each spelling that the package has.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import chain
from typing import Any

import agents_items
import exchanges as exchange
import framework_messages as framework
import frameworks
import kernel_dumps
import more_framework_messages as more
import protocol_messages as protocol
import protocols
import provider_items as item
import provider_messages as provider
import providers
import transcripts

Build = Callable[[], Iterator[dict[str, Any]]]


def both(*builds: Build) -> Build:
    """One function for what several build."""
    return lambda: chain.from_iterable(build() for build in builds)


KINDS = ("tool_results", "messages", "histories")
DIALECTS: dict[str, tuple[str, Build | None, Build | None, Build]] = {
    "openai-responses": (
        "openai",
        both(
            providers.openai_responses,
            providers.openai_responses_screens,
            providers.openai_responses_shells,
        ),
        both(provider.openai_responses, item.openai_responses, item.openai_responses_tools),
        provider.openai_responses_histories,
    ),
    # Its items are described by schemas of TypeScript, and are no classes.
    "openai-agents": ("", agents_items.results, agents_items.messages, agents_items.histories),
    "openai-chat": (
        "openai",
        providers.openai_chat,
        both(provider.openai_chat, item.openai_chat),
        provider.openai_chat_histories,
    ),
    "mistral": (
        "mistralai",
        providers.mistral,
        both(provider.mistral, item.mistral),
        provider.mistral_histories,
    ),
    "ollama": ("ollama", providers.ollama, provider.ollama, provider.ollama_histories),
    "anthropic": (
        "anthropic",
        providers.anthropic,
        both(provider.anthropic, item.anthropic),
        provider.anthropic_histories,
    ),
    "gemini": (
        "google-genai",
        providers.gemini,
        both(provider.gemini, item.gemini),
        both(provider.gemini_histories, item.gemini_histories, exchange.gemini),
    ),
    "adk": ("google-adk", frameworks.adk, framework.adk, framework.adk_histories),
    "bedrock": (
        "strands-agents",
        providers.bedrock,
        both(provider.bedrock, item.bedrock),
        provider.bedrock_histories,
    ),
    "strands": (
        "strands-agents",
        frameworks.strands,
        framework.strands,
        framework.strands_histories,
    ),
    "langchain": (
        "langchain-core",
        frameworks.langchain,
        framework.langchain,
        framework.langchain_histories,
    ),
    # Its shapes are types of TypeScript, and no classes.
    "vercel": ("", frameworks.vercel, framework.vercel, framework.vercel_histories),
    "pydantic-ai": (
        "pydantic-ai-slim",
        frameworks.pydantic_ai,
        framework.pydantic_ai,
        framework.pydantic_ai_histories,
    ),
    "llama-index": (
        "llama-index-core",
        frameworks.llama_index,
        more.llama_index,
        more.llama_index_histories,
    ),
    "haystack": (
        "haystack-ai",
        frameworks.haystack,
        more.haystack,
        more.haystack_histories,
    ),
    "agent-framework": (
        "agent-framework-core",
        frameworks.agent_framework,
        both(more.agent_framework, more.agent_framework_tools),
        more.agent_framework_histories,
    ),
    "autogen": (
        "autogen-agentchat",
        frameworks.autogen,
        more.autogen,
        more.autogen_histories,
    ),
    "semantic-kernel": ("", kernel_dumps.results, kernel_dumps.messages, kernel_dumps.histories),
    "a2a": (
        "a2a-sdk",
        protocols.a2a,
        protocol.a2a,
        both(protocol.a2a_histories, exchange.a2a, exchange.a2a_before),
    ),
    "acp": ("agent-client-protocol", protocols.acp, protocol.acp, protocol.acp_histories),
    "ag-ui": (
        "ag-ui-protocol",
        protocols.ag_ui,
        protocol.ag_ui,
        both(protocol.ag_ui_histories, exchange.ag_ui),
    ),
    "otel-genai": (
        "opentelemetry-util-genai",
        protocols.otel_genai,
        protocol.otel_genai,
        protocol.otel_genai_histories,
    ),
    "mcp": ("mcp", protocols.mcp, protocol.mcp, protocol.mcp_histories),
    # Files that coding agents write, which have no package of their own.
    "claude-code": ("", None, None, transcripts.claude_code),
    "codex": ("", None, None, transcripts.codex),
}
_NO_PACKAGE = {
    "openai-agents": "@openai/agents",
    "vercel": "ai",
    "semantic-kernel": "semantic-kernel 1.45.0",
    "claude-code": "Claude Code",
    "codex": "Codex",
}


def members(value: Any, path: str = "") -> Iterator[str]:
    """Yield the paths to all members of a value, each with the type of the member."""
    yield f"{path}:{type(value).__name__}"
    if isinstance(value, dict):
        for name, member in value.items():
            yield from members(member, f"{path}/{name}")
    elif isinstance(value, list):
        for member in value:
            yield from members(member, f"{path}/-")


def lines(kind: str, dialect: str) -> Iterator[str]:
    """Yield a dialect's objects in which some two members stand together for the first time."""
    package, *builds = DIALECTS[dialect]
    build = builds[KINDS.index(kind)]
    text = f"{package} {version(package)}" if package else _NO_PACKAGE[dialect]
    seen: set[tuple[str, str]] = set()
    number = 0
    for made in build() if build else ():
        paths = sorted({*members(made["value"]), *_seen_beside(made["expect"])})
        pairs = {(one, other) for one in paths for other in paths if one < other}
        if pairs <= seen:
            continue
        seen |= pairs
        number += 1
        line = {"name": f"{dialect}-{number}", "package": text, **made}
        yield json.dumps(line, separators=(",", ":"))


def _seen_beside(expect: dict[str, Any]) -> Iterator[str]:
    """Yield the properties of a value beside its members: a result that failed, a side."""
    yield str(expect.get("failed", expect.get("role")))


if __name__ == "__main__":
    # Packages warn of deprecated classes, whose dumps are read as long as they exist.
    warnings.filterwarnings("ignore")
    for value in sys.argv[2:] or DIALECTS:
        for line in lines(sys.argv[1], value):
            print(line)
