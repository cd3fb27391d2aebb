"""OAuth addresses and metadata of the MCP specification, from the SDK."""

from collections.abc import Sequence
from typing import Any

from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls
from mcp.server.auth.routes import build_resource_metadata_url, validate_issuer_url
from mcp.shared.auth import ProtectedResourceMetadata
from pydantic import AnyHttpUrl, TypeAdapter


def check_issuer(url: str) -> None:
    """Raises ValueError if a URL cannot be an issuer."""
    validate_issuer_url(TypeAdapter(AnyHttpUrl).validate_python(url))


def resource_metadata(resource: str, issuer: str, scopes: Sequence[str]) -> dict[str, Any]:
    """The protected resource metadata of RFC 9728."""
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
    """The URL of a resource's metadata."""
    return str(build_resource_metadata_url(AnyHttpUrl(resource)))


def issuer_metadata_urls(issuer: str) -> list[str]:
    """The URLs where an issuer's metadata may be, in the order to try."""
    return build_oauth_authorization_server_metadata_discovery_urls(issuer, issuer)
