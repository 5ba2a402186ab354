"""Builds results of tools with the classes of real packages, and dumps them as their users do.

Run in an environment with the packages of `requirements-dialects.lock`:

    python build.py [DIALECT…]

Each line that it prints is a result as a host posts it, and what a model may be told of it: the
texts exactly, the media by the beginning of their digests, whether the tool failed, and which call
of which tool it answers. Each object is built with every optional member alone, with all, and with
none, and is dumped in each spelling that the package has.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import Any

import frameworks
import protocols
import providers

Build = Callable[[], Iterator[dict[str, Any]]]
DIALECTS: dict[str, tuple[str, Build]] = {
    "openai-responses": ("openai", providers.openai_responses),
    "openai-chat": ("openai", providers.openai_chat),
    "mistral": ("mistralai", providers.mistral),
    "ollama": ("ollama", providers.ollama),
    "anthropic": ("anthropic", providers.anthropic),
    "gemini": ("google-genai", providers.gemini),
    "adk": ("google-adk", frameworks.adk),
    "bedrock": ("strands-agents", providers.bedrock),
    "strands": ("strands-agents", frameworks.strands),
    "langchain": ("langchain-core", frameworks.langchain),
    # Its shapes are types of TypeScript, and no classes.
    "vercel": ("", frameworks.vercel),
    "pydantic-ai": ("pydantic-ai-slim", frameworks.pydantic_ai),
    "llama-index": ("llama-index-core", frameworks.llama_index),
    "haystack": ("haystack-ai", frameworks.haystack),
    "agent-framework": ("agent-framework-core", frameworks.agent_framework),
    "autogen": ("autogen-agentchat", frameworks.autogen),
    "a2a": ("a2a-sdk", protocols.a2a),
    "acp": ("agent-client-protocol", protocols.acp),
    "ag-ui": ("ag-ui-protocol", protocols.ag_ui),
    "otel-genai": ("opentelemetry-util-genai", protocols.otel_genai),
    "mcp": ("mcp", protocols.mcp),
}


def members(value: Any, path: str = "") -> Iterator[str]:
    """The paths to all members of a value, each with the type of what stands there."""
    yield f"{path}:{type(value).__name__}"
    if isinstance(value, dict):
        for name, member in value.items():
            yield from members(member, f"{path}/{name}")
    elif isinstance(value, list):
        for member in value:
            yield from members(member, f"{path}/-")


def lines(dialect: str) -> Iterator[str]:
    """Yield a dialect's objects in which some two members stand together for the first time."""
    package, build = DIALECTS[dialect]
    said = f"{package} {version(package)}" if package else "ai"
    seen: set[tuple[str, str]] = set()
    number = 0
    for made in build():
        failed = str(made["expect"].get("failed"))
        paths = sorted({*members(made["value"]), failed})
        pairs = {(one, other) for one in paths for other in paths if one < other}
        if pairs <= seen:
            continue
        seen |= pairs
        number += 1
        line = {"name": f"{dialect}-{number}", "package": said, **made}
        yield json.dumps(line, separators=(",", ":"))


if __name__ == "__main__":
    # Packages warn of classes that are on their way out; what they dump counts as long as it can.
    warnings.filterwarnings("ignore")
    for each in sys.argv[1:] or DIALECTS:
        for line in lines(each):
            print(line)
