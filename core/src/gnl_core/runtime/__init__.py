"""One engine for the boundaries: poll loop, lease keeper, revocation, execution, stopping."""

from gnl_core.runtime._boundary import Boundary, Invocation, Taken
from gnl_core.runtime._engine import Engine, EngineOptions, OnRevoke
from gnl_core.runtime._signal import Signal

__all__ = ["Boundary", "Engine", "EngineOptions", "Invocation", "OnRevoke", "Signal", "Taken"]
