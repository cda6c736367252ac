from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gnl_core import Job, enqueue_many, open_storage
from gnl_core.cli import app
from gnl_core.errors import SchemaMismatch, StoreUnavailable
from gnl_core.events import Consumer, Event, EventMeta, emit_many
from gnl_core.memory import _store
from gnl_core.spi import SECOND, Dead, Outcome

URL = "memory://command-line"


def gnl(*arguments: str, store: str | None = URL) -> Result:
    environment = {"GNL_STORE": store} if store else {"GNL_STORE": None}
    return CliRunner().invoke(app, arguments, env=environment)


def in_json(*arguments: str) -> object:
    done = gnl(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def jobs():
    """w waits, d is dead, x of acme waits; all in a store of this process."""

    async def fill() -> None:
        async with open_storage(URL) as storage:
            work = storage.work
            await enqueue_many(work, [Job("a", {"n": 1}, id="d")])
            claimed = await work.jobs.claim(["a"], 1, SECOND, "w", max_attempts=1)
            await work.jobs.settle([Outcome(claimed.grants[0].hold, Dead("ValueError: boom\nat"))])
            await enqueue_many(
                work, [Job("b", id="w"), Job("a\x1b[2J\n", id="x", org_id="acme [red]")]
            )

    asyncio.run(fill())
    yield
    _store._NAMED.clear()


def test_jobs_are_listed(jobs) -> None:
    lines = gnl("jobs", "list").stdout.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["id", "d", "w"]
    assert lines[1].split("\t")[3] == "dead"
    assert lines[1].split("\t")[6] == "ValueError: boom"
    page = in_json("jobs", "list", "--org", "acme [red]")
    assert [job["id"] for job in page["items"]] == ["x"]
    assert page["next_cursor"] is None
    assert [job["id"] for job in in_json("jobs", "list", "--all")["items"]] == ["d", "w", "x"]
    assert [job["id"] for job in in_json("jobs", "list", "--state", "dead")["items"]] == ["d"]


def test_names_cannot_move_the_cursor(jobs) -> None:
    line = gnl("jobs", "list", "--all").stdout.splitlines()[-1]
    assert "a\\x1b[2J\\n" in line


def test_a_listing_goes_on_with_its_cursor(jobs) -> None:
    page = in_json("jobs", "list", "--limit", "1")
    rest = in_json("jobs", "list", "--cursor", page["next_cursor"])
    assert [job["id"] for job in rest["items"]] == ["w"]
    done = gnl("jobs", "list", "--limit", "1")
    assert f"--cursor={page['next_cursor']}" in done.stderr
    foreign = gnl("jobs", "list", "--all", "--cursor", page["next_cursor"])
    assert foreign.exit_code == 2
    assert foreign.stderr.startswith("gnl: the cursor belongs to another listing")


def test_a_job_is_shown(jobs) -> None:
    job = in_json("jobs", "show", "d")
    assert job["payload"] == {"n": 1}
    assert job["failures"][0]["error"] == "ValueError: boom\nat"
    text = gnl("jobs", "show", "d").stdout
    assert 'payload: {"n": 1}' in text
    assert "attempt 1 failed at " in text
    missing = gnl("jobs", "show", "x")
    assert missing.exit_code == 1
    assert missing.stderr == "gnl: no job without organization (try --org) has the id 'x'\n"


def test_jobs_are_retried_and_canceled(jobs) -> None:
    assert in_json("jobs", "retry", "d") == [{"id": "d", "org_id": None, "answer": "revived"}]
    again = gnl("jobs", "retry", "d", "nope")
    assert (again.exit_code, again.stdout) == (1, "d: not-dead\nnope: unknown\n")
    done = gnl("jobs", "cancel", "d", "w")
    assert (done.exit_code, done.stdout) == (0, "d: canceled\nw: canceled\n")
    assert gnl("jobs", "cancel", "x").exit_code == 1
    assert gnl("jobs", "cancel", "x", "--org", "acme [red]").exit_code == 0


def test_lanes_are_listed(jobs) -> None:
    assert in_json("lanes") == [
        {"org_id": None, "ready": 1, "delayed": 0, "running": 0},
        {"org_id": "acme [red]", "ready": 1, "delayed": 0, "running": 0},
    ]
    assert gnl("lanes").stdout.splitlines()[1] == "-\t1\t0\t0"


def test_upgrade_says_what_it_found() -> None:
    assert gnl("upgrade").stdout == "tables are up to date, version 1\n"
    assert in_json("upgrade") == {"before": 1, "after": 1}


@pytest.mark.parametrize(
    ("arguments", "store", "code", "message"),
    [
        (["jobs", "list"], None, 2, "Missing option '--store'"),
        (["jobs", "list"], "work.db", 2, "gnl: 'work.db' is not a store URL"),
        (["jobs", "list"], "redis://h", 2, "gnl: no store for redis:// URLs is installed"),
        (["jobs", "list", "--all", "--org", "a"], URL, 2, "gnl: --all and --org exclude each"),
        (["jobs", "list", "--org", ""], URL, 2, "gnl: org_id is empty"),
        (["jobs", "list", "--state", "gone"], URL, 2, "Invalid value for '--state'"),
        (["jobs", "list", "--cursor", "x"], URL, 2, "gnl: the cursor is damaged"),
        (["jobs", "show", ""], URL, 2, "gnl: id is empty"),
        (["worker", "nowhere:worker"], URL, 2, "gnl: there is no module 'nowhere'"),
        (["worker", "json"], URL, 2, "gnl: 'json' is no import path; write module:name"),
        (["worker", "json:nope"], URL, 2, "gnl: module 'json' has no 'nope'"),
        (["worker", "json:__name__"], URL, 2, "gnl: 'json:__name__' is a str; name a mapping"),
        (["worker", "builtins:repr"], URL, 2, "gnl: 'builtins:repr' gave a str, not a Worker"),
        (["worker", "builtins:repr", "--ttl", "1"], URL, 2, "makes its own Worker; set --ttl"),
        (["worker", "os:environ", "--ttl", "nan"], URL, 2, "gnl: the handler of"),
    ],
    ids=range(15),
)
def test_wrong_use_is_one_line_and_code_2(arguments, store, code, message) -> None:
    done = gnl(*arguments, store=store)
    assert done.exit_code == code
    assert message in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (StoreUnavailable("no answer\nfrom db"), 3),
        (SchemaMismatch("run: gnl upgrade", found=1, needed=2), 4),
    ],
)
def test_the_exit_code_tells_what_is_wrong_with_the_store(monkeypatch, error, code) -> None:
    def refuse(url: str) -> None:
        raise error

    monkeypatch.setattr("gnl_core.cli._run.open_storage", refuse)
    done = gnl("jobs", "list")
    assert done.exit_code == code
    assert done.stderr == f"gnl: {' '.join(str(error).split())}\n"


APP = """
import os, signal
from gnl_core.queue import Worker, enqueue

async def hello(payload, ctx):
    print("hello", payload, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)

async def worker(storage):
    await enqueue(storage.work, "hello", "there")
    return Worker(storage, {"hello": hello})
"""


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gnl_core.cli", *arguments],
        check=False,
        cwd=folder,
        env={**os.environ, "GNL_STORE": "memory://"},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_worker_runs_from_an_import_path_until_sigterm(tmp_path) -> None:
    (tmp_path / "app.py").write_text(APP)
    done = command(tmp_path, "worker", "app:worker")
    assert done.stdout == "hello there\n"
    assert done.returncode == 0, done.stderr


def test_help_works_as_a_process_of_its_own(tmp_path) -> None:
    done = command(tmp_path, "--help")
    assert done.returncode == 0
    assert "Background work that survives crashes" in done.stdout


# Events


@pytest.fixture
def events() -> Iterator[None]:
    """Three events in topic t; for consumer c, x of no organization and y of acme are dead."""

    async def fail_some(payload: object, meta: EventMeta) -> None:
        if meta.id != "z":
            raise ValueError("boom\x1b[2J")

    async def fill() -> None:
        async with open_storage(URL) as storage:
            some = [Event("t", 1, id="x"), Event("t", 2, id="y", org_id="acme"), Event("t", id="z")]
            await emit_many(storage.work, some)
            await Consumer(storage, "t", "c", fail_some, max_attempts=1).drain()

    asyncio.run(fill())
    yield
    _store._NAMED.clear()


def test_topics_and_consumers_are_listed(events: None) -> None:
    assert gnl("events", "topics").stdout.splitlines() == [
        "topic\tevents\tlast position",
        "t\t3\t3",
    ]
    assert in_json("events", "topics") == [{"topic": "t", "events": 3, "last": 3}]
    (consumer,) = in_json("events", "consumers", "t")
    assert consumer == {
        "topic": "t",
        "consumer": "c",
        "reach": 3,
        "lag": 0,
        "held": 0,
        "parked": 0,
        "quarantined": 2,
    }
    assert in_json("events", "consumers", "other") == []
    assert gnl("events", "consumers").stdout.splitlines()[1].split("\t")[:3] == ["t", "c", "0"]


def test_dead_events_are_listed_page_by_page(events: None) -> None:
    page = in_json("events", "dead", "t", "c", "--limit", "1")
    assert [(e["id"], e["payload"], e["attempts"]) for e in page["items"]] == [("x", 1, 1)]
    rest = in_json("events", "dead", "t", "c", "--cursor", page["next_cursor"])
    assert [(e["id"], e["org_id"]) for e in rest["items"]] == [("y", "acme")]
    foreign = gnl("events", "dead", "t", "d", "--cursor", page["next_cursor"])
    assert foreign.exit_code == 2
    lines = gnl("events", "dead", "t", "c").stdout.splitlines()
    assert lines[1].split("\t")[-1].endswith("ValueError: boom\\x1b[2J")


def test_dead_events_are_handed_back(events: None) -> None:
    done = gnl("events", "retry", "t", "c", "x", "y", "z", "nope")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "x: released",
        "y: unknown",
        "z: not-dead",
        "nope: unknown",
    ]
    assert in_json("events", "retry", "t", "c", "y", "--org", "acme") == [
        {"id": "y", "org_id": "acme", "answer": "released"}
    ]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("json", "gnl: 'json' is no import path; write module:name"),
        ("json:__name__", "gnl: 'json:__name__' is a str; name a function of the storage"),
        ("builtins:repr", "gnl: 'builtins:repr' gave a str, not a Consumer"),
    ],
)
def test_a_target_that_gives_no_consumer_is_refused(target: str, said: str) -> None:
    done = gnl("consumer", target)
    assert (done.exit_code, done.stderr[: len(said)]) == (2, said)


EVENTS_APP = """
import os, signal
from gnl_core.events import Consumer, emit

seen = []

async def handler(payload, meta):
    seen.append((meta.consumer, payload))
    if len(seen) == 2:
        print(sorted(seen), flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

async def consumers(storage):
    await emit(storage.work, "t", 7)
    return [Consumer(storage, "t", name, handler) for name in "ab"]
"""


def test_consumers_run_from_an_import_path_until_sigterm(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(EVENTS_APP)
    done = command(tmp_path, "consumer", "app:consumers")
    assert done.stdout == "[('a', 7), ('b', 7)]\n"
    assert done.returncode == 0, done.stderr
