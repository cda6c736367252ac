"""``gnl events``."""

from __future__ import annotations

from typing import Annotated

import typer

from gnl_core.cli._answers import for_each, print_page
from gnl_core.cli._print import print_json, print_rows
from gnl_core.cli._print_events import (
    consumer_as_json,
    dead_as_json,
    print_consumers,
    print_dead,
    topic_as_json,
)
from gnl_core.cli._run import AsJson, Org, StoreUrl, on_storage
from gnl_core.events import (
    list_consumers,
    list_dead_events,
    list_topics,
    retry_dead_event,
)

events = typer.Typer(no_args_is_help=True, help="Topics, consumers, and events that failed.")

_Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The topic.")]
_Consumer = Annotated[str, typer.Argument(metavar="CONSUMER", help="Name of the consumer.")]


@events.command("topics")
def topics_command(store: StoreUrl, as_json: AsJson = False) -> None:
    """List topics: how many events each holds, and the last position in it."""
    found = on_storage(store, lambda storage: list_topics(storage.work))
    if as_json:
        print_json([topic_as_json(topic) for topic in found])
    else:
        rows = [(topic.topic, str(topic.events), str(topic.last)) for topic in found]
        print_rows(("topic", "events", "last position"), rows)


@events.command("consumers")
def consumers_command(
    store: StoreUrl,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="Only those of one topic.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List consumers with their lag, and what they hold, have parked and quarantined."""
    found = on_storage(store, lambda storage: list_consumers(storage.work, topic))
    if as_json:
        print_json([consumer_as_json(consumer) for consumer in found])
    else:
        print_consumers(found)


@events.command("dead")
def dead_command(
    *,
    store: StoreUrl,
    topic: _Topic,
    consumer: _Consumer,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Events to show.")] = 50,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Go on where a page ended.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List a page of the events quarantined for a consumer; the next cursor goes to stderr."""
    found = on_storage(
        store,
        lambda storage: list_dead_events(storage.work, topic, consumer, cursor=cursor, limit=limit),
    )
    print_page(found, print_dead, dead_as_json if as_json else None)


@events.command("retry")
def retry_command(
    *,
    store: StoreUrl,
    topic: _Topic,
    consumer: _Consumer,
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of events.")],
    org: Org = None,
    as_json: AsJson = False,
) -> None:
    """Hand quarantined events back: due now, fresh budget. Exits 1 unless all were."""
    for_each(
        store,
        ids,
        org,
        as_json,
        lambda work, event: retry_dead_event(work, topic, consumer, event, org_id=org),
    )
