"""The rules of the event log: appending, delivering, setting aside."""

from __future__ import annotations

from gnl_conformance._rule import Rule

EVENT_RULES = (
    # log
    Rule("log.once", "E1", "an id is one event in its topic and organization, acked or not"),
    Rule("log.known", "E1", "a known id keeps its first content, and answers with it"),
    Rule("log.order", "E4", "events stand in the log in the order of appending"),
    Rule("log.atomic", "E1", "all events of a call are appended, or none"),
    Rule("log.bulk", "E1", "one call appends any number of events"),
    Rule("log.depth", "E1", "max_depth counts what some consumer has not been handed yet"),
    Rule("log.names", "C8", "topics, ids, keys and consumers are compared byte for byte"),
    Rule("log.topics", "C8", "topics and organizations do not see or touch each other's events"),
    Rule("log.payload", "C9", "payload and key are given back exactly"),
    Rule("log.transaction", "E1", "an append lives and dies with the caller's transaction"),
    Rule("log.late", "E4", "what commits late is delivered all the same, and nobody waits for it"),
    Rule("log.rolledback", "E4", "what was rolled back leaves no gap that stops a consumer"),
    Rule("log.counted", "E8", "topics with events or consumers are counted, in byte order"),
    Rule("log.pruned", "E8", "no event that a consumer owes is pruned, and all others can be"),
    # delivery
    Rule("delivery.each", "E2", "every consumer is handed every event"),
    Rule("delivery.shared", "E2", "handles of one consumer share its events"),
    Rule("delivery.limit", "E2", "a delivery holds as many events as its limit, and no more"),
    Rule("delivery.start", "E2", "a consumer begins where it was first told to, and stays there"),
    Rule("delivery.acked", "E3", "an acked event does not come again, and every other one does"),
    Rule("delivery.exclusive", "C2", "no event has two live leases of one consumer"),
    Rule("delivery.fenced", "C3", "a stale token changes nothing and is told so"),
    Rule("delivery.token", "C3", "tokens grow from grant to grant of an event"),
    Rule("delivery.held", "C3", "an expired lease that no delivery has ended is still held"),
    Rule("delivery.batch", "C3", "each hold of a batch is answered by itself, in order"),
    Rule("delivery.reclaimed", "E3", "a lease that ran out is ended by the next delivery"),
    Rule("delivery.boundary", "C4", "a lease has expired when store now >= expires_at"),
    Rule("delivery.extend", "C4", "an extension counts from the store's now"),
    Rule("delivery.clock", "C4", "the client's clock changes nothing"),
    Rule("delivery.retry", "E5", "a retry is due after its delay by the store's clock"),
    Rule("delivery.attempt", "E5", "every grant counts as an attempt, until it is released"),
    Rule("delivery.order", "E4", "given back first, then retries and new events in turn"),
    Rule("delivery.key", "E4", "events of one key are handed out one after the other, if asked"),
    Rule("delivery.grant", "E7", "a grant says what was appended, when, and for how long it is"),
    Rule("delivery.run", "E7", "a run id is one event's for one consumer, until a rewind"),
    Rule("delivery.due", "C6", "a delivery says when the next parked event is due"),
    Rule("delivery.poll", "E6", "a call costs the same, however many are parked or set aside"),
    Rule("delivery.rewind", "E8", "what lies behind a rewind is new again, the rest is as it was"),
    Rule("delivery.removed", "E8", "a removed consumer is forgotten, and its holds are lost"),
    Rule("delivery.lag", "E8", "consumers are counted by what they owe, in byte order"),
    # quarantine
    Rule("quarantine.budget", "E5", "the last attempt of the granted budget sets the event aside"),
    Rule("quarantine.apart", "E5", "an event that fails does not stop those behind it"),
    Rule("quarantine.page", "E6", "quarantined events are listed by position, page by page"),
    Rule("quarantine.error", "C10", "the error of an event set aside is read back exactly"),
    Rule("quarantine.release", "E6", "a quarantined event, and no other, is handed back afresh"),
    Rule("quarantine.alone", "E6", "an event is set aside and released for one consumer alone"),
    Rule("quarantine.late", "E6", "a release beats a failure that was still in flight"),
)
