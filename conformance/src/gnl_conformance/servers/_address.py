"""Where a URL points, and the same URL for another place."""

from __future__ import annotations

from urllib.parse import urlsplit


def address_of(url: str, default_port: int) -> tuple[str, int] | None:
    """Host and port of a URL; None if it names no host, as for a socket in the file system."""
    parts = urlsplit(url)
    return (parts.hostname, parts.port or default_port) if parts.hostname else None


def at_address(url: str, address: tuple[str, int]) -> str:
    """The URL with host and port replaced; user, password and all else stay."""
    parts = urlsplit(url)
    user, at, _ = parts.netloc.rpartition("@")
    host, port = address
    bracketed = f"[{host}]" if ":" in host else host
    return parts._replace(netloc=f"{user}{at}{bracketed}:{port}").geturl()
