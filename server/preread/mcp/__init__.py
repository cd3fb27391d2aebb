"""MCP over stdio: the registry's operations as tools, the dossiers as resources."""

from preread.mcp.stdio import serve_stdio

__all__ = ["serve_stdio"]
