"""Keeps a store's wake-ups coming."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gnl_core.errors import StoreError
from gnl_core.runtime._pace import IdleWait
from gnl_core.spi import Store


async def listen(
    store: Store, look: Callable[[], None], pause: IdleWait, logger: logging.Logger
) -> None:
    """Keep a wake-up source open for ever; without one, polling goes on at its own pace."""

    def hint() -> None:
        pause.reset()
        look()

    while True:
        try:
            await store.listen(hint)
        except StoreError as error:
            logger.debug("no wake-ups for now: %s", error)
        except Exception:
            logger.exception("no wake-ups for now")
        await asyncio.sleep(pause.next())
        look()  # a hint may have been lost meanwhile
