"""Every rule of the kit, with the promise of the specification that it proves.

Ids are permanent: reports, deviations and mutants name them.
"""

from __future__ import annotations

from gnl_conformance._event_rules import EVENT_RULES
from gnl_conformance._rule import Part, Rule

__all__ = ["RULES", "Part", "Rule"]

_ALL = (
    # enqueue
    Rule("enqueue.once", "Q2", "an id is one job in its organization, whatever its state"),
    Rule("enqueue.known", "Q2", "a known id keeps its first content, and answers with it"),
    Rule("enqueue.order", "Q3", "answers and sequence numbers follow call order"),
    Rule("enqueue.atomic", "Q3", "all jobs of a call are added, or none"),
    Rule("enqueue.depth", "Q4", "max_depth counts the call's own new jobs and no known ones"),
    Rule("enqueue.names", "C8", "names are compared byte for byte"),
    Rule("enqueue.payload", "C9", "text is given back exactly"),
    Rule("enqueue.bulk", "Q3", "one call adds any number of jobs"),
    Rule("enqueue.delay", "C4", "a job is due after its delay by the store's clock"),
    Rule("enqueue.transaction", "Q18", "an add lives and dies with the caller's transaction"),
    # lane
    Rule("lane.fair", "Q5", "with L lanes ready, each is served within L grants"),
    Rule("lane.late", "Q5", "a lane that arrives late neither jumps the queue nor waits"),
    Rule("lane.batch", "Q5", "a claim of n grants what n claims of one would"),
    Rule("lane.burst", "Q5", "many jobs that become ready together still give way"),
    Rule("lane.turn", "Q5", "adding many is as fair as adding them one by one"),
    Rule("lane.place", "Q6", "a job that comes back keeps its place in its lane"),
    Rule("lane.types", "Q7", "types that are not asked for are not granted and cost no turn"),
    Rule("lane.order", "Q6", "the claim order is the reference's, job by job"),
    Rule("lane.none", "Q5", "jobs without an organization are a lane of their own"),
    Rule("lane.shared", "Q14", "claimers of one lane at the same time all find work"),
    Rule("lane.limit", "Q7", "a claim grants as many ready jobs as its limit, and no more"),
    Rule("lane.poll", "Q8", "an empty claim costs the same, however much the store holds"),
    # lease
    Rule("lease.exclusive", "C2", "no job has two live leases"),
    Rule("lease.fenced", "C3", "a stale token changes nothing and is told so"),
    Rule("lease.token", "C3", "tokens grow from grant to grant of a job"),
    Rule("lease.reclaimed", "Q10", "a lease that ran out is ended by the next claim"),
    Rule("lease.boundary", "C4", "a lease has expired when store now >= expires_at"),
    Rule("lease.extend", "C4", "an extension counts from the store's now"),
    Rule("lease.held", "C3", "an expired lease that no claim has ended is still held"),
    Rule("lease.batch", "C3", "each hold of a batch is answered by itself, in order"),
    Rule("lease.clock", "C4", "the client's clock changes nothing"),
    # attempt
    Rule("attempt.bounded", "Q9", "an attempt is counted when it is claimed; the last one buries"),
    Rule("attempt.budget", "Q9", "a job's own budget counts, else that of the claim"),
    Rule("attempt.retry", "Q11", "a retry is due after its delay by the store's clock"),
    Rule("attempt.release", "Q15", "a released job gets its attempt back and records no failure"),
    Rule("attempt.dead", "Q11", "a job declared dead is dead at once"),
    Rule("attempt.cancel", "Q13", "a cancel that was accepted is final"),
    Rule("attempt.revive", "Q12", "a dead job, and no other, is revived in place, once"),
    Rule("attempt.history", "Q12", "every failure is kept, oldest first"),
    Rule("attempt.result", "Q16", "a result is kept and read back exactly"),
    Rule("attempt.run", "Q10", "every attempt of a job has the same run id"),
    # list
    Rule("list.snapshot", "L3", "a listing holds what was committed at its first page, once"),
    Rule("list.lane", "L1", "a listing of one lane holds no other's jobs"),
    Rule("list.all", "L2", "no organization first, then by name in byte order, in enqueue order"),
    Rule("list.states", "L1", "a filter leaves out other states and ends all the same"),
    Rule("list.cursor", "L4", "a position works on another handle"),
    Rule("list.ends", "L3", "a listing ends under endless producers"),
    Rule("list.pruned", "L3", "only pruned jobs may be missing from a listing"),
    # store
    Rule("store.kept", "C1", "what was acknowledged survives any crash of a client"),
    Rule("store.live", "Q10", "once disturbances end, all work ends"),
    Rule("store.errors", "C12", "no error of a driver escapes"),
    Rule("store.organization", "C8", "organizations do not see or touch each other's jobs"),
    Rule("store.get", "Q16", "one job is read as it is now"),
    Rule("store.depth", "Q4", "depth counts waiting and running jobs of one lane"),
    Rule("store.lanes", "Q5", "lanes with live jobs are counted by state, in order"),
    Rule("store.due", "C6", "a claim says when the next delayed job is due"),
    Rule("store.prune", "Q16", "finished jobs are pruned by age and count, and nothing else"),
    Rule("store.clock", "C4", "one clock for all handles, never running back"),
    Rule("store.sibling", "C5", "a sibling is a handle of its own on the same data"),
    Rule("store.close", "C7", "closing twice does nothing more"),
    Rule("store.schema", "C11", "an upgrade keeps all data and can be raced"),
    Rule("store.capabilities", "C6", "a store is what its harness declares"),
    Rule("store.wake", "C6", "hints arrive, and losing them loses no work"),
    # worker: what gnl's own worker makes of a store, judged in simulated worlds
    Rule("worker.once", "C2", "a grant runs its handler once"),
    Rule("worker.told", "R1", "a handler is told when its worker learns that its hold is gone"),
    Rule("worker.silent", "R4", "a worker that knows a lease to be lost writes nothing for it"),
    Rule("worker.written", "C7", "an outcome is written until the store has answered"),
    Rule("worker.renews", "C5", "a lease outlasts a handler that blocks the event loop"),
)

RULES: dict[str, Rule] = {rule.id: rule for rule in (*_ALL, *EVENT_RULES)}
