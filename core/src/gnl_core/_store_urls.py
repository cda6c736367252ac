"""Which store a URL names, and URLs without their password."""

from __future__ import annotations

import re
from importlib.metadata import EntryPoint, entry_points
from typing import Final
from urllib.parse import unquote

from gnl_core._shown import shown
from gnl_core.errors import InvalidInput, StoreNotFound
from gnl_core.spi import StoreFactory

GROUP: Final = "gnl.stores"

_DISTRIBUTIONS: Final = {
    "libsql": "gnl-store-libsql",
    "mariadb": "gnl-store-mysql",
    "mongodb": "gnl-store-mongo",
    "mongodb+srv": "gnl-store-mongo",
    "mysql": "gnl-store-mysql",
    "postgres": "gnl-store-postgres",
    "postgresql": "gnl-store-postgres",
    "sqlite": "gnl-store-sqlite",
}

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
# Up to the last @ of all: passwords are pasted with unescaped @, / and ?; better hide too much.
_CREDENTIALS: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)([^/?#:]*):(.*)@")
_SECRET_OPTION: Final = re.compile(
    r"(?i)([?&](?:password|passwd|pwd|auth_?token|token|secret)=)([^&#]*)"
)
_HIDDEN: Final = "***"


def find_store(url: str) -> StoreFactory:
    """The factory for `url`; its driver is imported now, and no other.

    Raises `InvalidInput` for a URL without scheme, and `StoreNotFound`, which names what to
    install.
    """
    scheme = _scheme(url)
    found = {entry.value: entry for entry in entry_points(group=GROUP, name=scheme)}
    if not found:
        raise StoreNotFound(f"no store for {scheme}:// URLs is installed; {_advice(scheme)}")
    if len(found) > 1:
        raise StoreNotFound(
            f"several stores for {scheme}:// URLs are installed: {', '.join(sorted(found))};"
            " uninstall all but one"
        )
    return _load(scheme, *found.values())


def hide_password(url: str) -> str:
    """`url` with its password, or what looks like one, as ``***``."""
    return _SECRET_OPTION.sub(rf"\1{_HIDDEN}", _CREDENTIALS.sub(rf"\1\2:{_HIDDEN}@", url))


def hide_in(message: str, url: str) -> str:
    """`message` with the password of `url` hidden, should a driver have quoted it."""
    message = message.replace(url, hide_password(url))
    for secret in _secrets(url):
        message = message.replace(secret, _HIDDEN)
    return message


def _secrets(url: str) -> list[str]:
    found = [match[2] for match in _SECRET_OPTION.finditer(url)]
    credentials = _CREDENTIALS.match(url)
    if credentials is not None:
        found.append(credentials[3])
    # One or two characters would black out half the message, and protect nothing.
    return [form for secret in found for form in (secret, unquote(secret)) if len(form) > 2]


def _scheme(url: object) -> str:
    if not isinstance(url, str):
        raise InvalidInput(f"a store URL is a str, not {type(url).__name__}: {shown(url)}")
    match = _SCHEME.match(url)
    if match is None:
        raise InvalidInput(
            f"{shown(hide_password(url))} is not a store URL: it has no scheme;"
            " write sqlite:///work.db or postgresql://user@host/database"
        )
    return match[1].lower()


def _advice(scheme: str) -> str:
    distribution = _DISTRIBUTIONS.get(scheme)
    if distribution is not None:
        return f"run: pip install {distribution}"
    known = ", ".join(sorted(_DISTRIBUTIONS))
    return f"check the URL; stores of this project serve {known}, memory"


def _load(scheme: str, entry: EntryPoint) -> StoreFactory:
    try:
        factory: StoreFactory = entry.load()
    except ImportError as error:
        distribution = _DISTRIBUTIONS.get(scheme, entry.module)
        raise StoreNotFound(
            f"the store for {scheme}:// URLs cannot be imported: {error};"
            f" run: pip install {distribution}"
        ) from error
    return factory
