"""What the MCP specification says of OAuth, as the SDK knows it: addresses and metadata."""

from collections.abc import Sequence
from typing import Any

from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.routes import build_resource_metadata_url, validate_issuer_url
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl, TypeAdapter


def check_issuer(url: str) -> None:
    """Raises ValueError for what is no issuer's address."""
    validate_issuer_url(TypeAdapter(AnyHttpUrl).validate_python(url))


def resource_metadata(resource: str, issuer: str, scopes: Sequence[str]) -> dict[str, Any]:
    """What RFC 9728 has clients read before they ask for a token."""
    found = ProtectedResourceMetadata.model_validate(
        {
            "resource": resource,
            "authorization_servers": [issuer],
            "scopes_supported": list(scopes),
            "resource_name": "Preread",
        }
    )
    return found.model_dump(mode="json", exclude_none=True)


def resource_metadata_url(resource: str) -> str:
    """Where that is read."""
    return str(build_resource_metadata_url(AnyHttpUrl(resource)))


def issuer_metadata_urls(issuer: str) -> list[str]:
    """Where an issuer's own metadata may be read, in the order of trying."""
    return build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer)
