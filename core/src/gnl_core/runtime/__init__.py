"""One engine for the boundaries: poll loop, lease keeper, revocation, execution, stopping."""

from gnl_core.runtime._asks import DeadLetter, GiveBack, Retry
from gnl_core.runtime._boundary import Boundary, Invocation, Settled, Taken
from gnl_core.runtime._engine import Engine
from gnl_core.runtime._handlers import blocks, check_handler
from gnl_core.runtime._machine import MACHINE, Machine
from gnl_core.runtime._options import EngineOptions, OnRevoke, engine_options
from gnl_core.runtime._service import Service
from gnl_core.runtime._signal import Signal
from gnl_core.runtime._stop_signals import on_stop_signals

__all__ = [
    "MACHINE",
    "Boundary",
    "DeadLetter",
    "Engine",
    "EngineOptions",
    "GiveBack",
    "Invocation",
    "Machine",
    "OnRevoke",
    "Retry",
    "Service",
    "Settled",
    "Signal",
    "Taken",
    "blocks",
    "check_handler",
    "engine_options",
    "on_stop_signals",
]
