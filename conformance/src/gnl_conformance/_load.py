"""Finds a harness class by ``file.py:Class``, as the command line and children name it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from gnl_conformance._harness import StoreConformance, check_declarations


def load_harness(name: str) -> type[StoreConformance]:
    """The class at ``path/to/file.py:Class``. Raises `ValueError` if there is none."""
    path, colon, qualname = name.rpartition(":")
    if not colon or not path:
        raise ValueError(f"{name!r} is not of the form path/to/file.py:Class")
    found: object = _import(Path(path).resolve())
    for part in qualname.split("."):
        found = getattr(found, part, None)
    if not (isinstance(found, type) and issubclass(found, StoreConformance)):
        raise ValueError(f"{path} has no subclass of StoreConformance called {qualname!r}")
    check_declarations(found)
    return found


def _import(path: Path) -> ModuleType:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == str(path):
            return module
    spec = importlib.util.spec_from_file_location(f"gnl_harness_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ValueError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module
