"""One engine for the boundaries: poll loop, lease keeper, revocation, execution, stopping."""

from gnl_core.runtime._boundary import Boundary, Invocation, Settled, Taken
from gnl_core.runtime._engine import Engine
from gnl_core.runtime._machine import MACHINE, Machine
from gnl_core.runtime._options import EngineOptions, OnRevoke
from gnl_core.runtime._signal import Signal
from gnl_core.runtime._stop_signals import on_stop_signals

__all__ = [
    "MACHINE",
    "Boundary",
    "Engine",
    "EngineOptions",
    "Invocation",
    "Machine",
    "OnRevoke",
    "Settled",
    "Signal",
    "Taken",
    "on_stop_signals",
]
