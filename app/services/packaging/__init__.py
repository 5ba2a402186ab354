"""Stage three: the canonical record and its bytes, built once."""

from app.services.packaging.stage import build_sanitized_tool_result, encode_sanitized

__all__ = ["build_sanitized_tool_result", "encode_sanitized"]
