"""Every Python and console snippet of README and docs runs, page by page, from top to bottom.

The Python snippets of a page share their names, and may await at top level, as in
``python -m asyncio``. PostgreSQL URLs of ``localhost`` mean the
server that the conformance kit finds or starts. Of a console snippet the commands ``gnl ...`` are
run; what stands below a command must be what it prints, where ``...`` stands for anything.
"""

from __future__ import annotations

import ast
import asyncio
import fnmatch
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnl_conformance import NotRun, servers

ROOT = Path(__file__).parents[2]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *ROOT.glob("*/README.md"),
    *ROOT.glob("stores/*/README.md"),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


POSTGRES_URL = re.compile(r"postgresql://[\w:@]*localhost[\w:/]*")


@dataclass(frozen=True)
class Snippet:
    """A fenced block, and the line of its first line of code."""

    language: str
    text: str
    line: int


def snippets(page: str) -> Iterator[Snippet]:
    for found in FENCE.finditer(page):
        yield Snippet(found[1], found[2], page.count("\n", 0, found.start(2)) + 1)


def run_python(
    snippet: Snippet, page: Path, names: dict[str, object], loop: asyncio.Runner
) -> None:
    source = "\n" * (snippet.line - 1) + POSTGRES_URL.sub(lambda _: postgres_url(), snippet.text)
    code = compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if code.co_flags & inspect.CO_COROUTINE:
        loop.run(eval(code, names))
    else:
        exec(code, names)


def postgres_url() -> str:
    try:
        return servers.postgres().url
    except NotRun as error:
        if os.environ.get("GNL_REQUIRE"):
            pytest.fail(str(error))
        pytest.skip(str(error))


def commands(snippet: Snippet) -> Iterator[tuple[str, str]]:
    """Each command of a console snippet with the output shown below it."""
    for part in re.split(r"^\$ ", snippet.text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        yield command, output


def run_console(snippet: Snippet, environment: dict[str, str]) -> None:
    for command, shown in commands(snippet):
        words = shlex.split(command)
        if words[0] == "export":
            environment.update([words[1].split("=", 1)])
        elif words[0] == "gnl":
            run_gnl(words, shown, f"line {snippet.line}: {command}", environment)


def run_gnl(words: list[str], shown: str, where: str, environment: dict[str, str]) -> None:
    ran = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    printed = ran.stdout + ran.stderr
    assert ran.returncode == 0, f"{where}\n{printed}"
    if shown.strip():
        assert matches(shown, printed), f"{where}\n{printed}"


def installed_first() -> dict[str, str]:
    """The environment, where commands are those installed beside this Python."""
    tools = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"]}


def matches(shown: str, printed: str) -> bool:
    """Line by line and without spaces at the end; ``...`` stands for anything."""
    literal = re.sub(r"([\[\]*?])", r"[\1]", trimmed(shown))
    return fnmatch.fnmatchcase(trimmed(printed), literal.replace("...", "*"))


def trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_snippets_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    environment = installed_first()
    with asyncio.Runner() as loop:
        for snippet in snippets(page.read_text(encoding="utf-8")):
            if snippet.language == "python":
                run_python(snippet, page, names, loop)
            elif snippet.language == "console":
                run_console(snippet, environment)


def test_a_broken_snippet_fails_with_its_line(tmp_path: Path) -> None:
    page = "text\n\n```python\nx = 1\nassert x == 2\n```\n"
    (snippet,) = snippets(page)
    with asyncio.Runner() as loop, pytest.raises(AssertionError) as caught:
        run_python(snippet, tmp_path / "page.md", {}, loop)
    assert caught.traceback[-1].lineno == 4  # counted from 0: the fifth line of the page


def test_output_is_compared() -> None:
    assert matches("a ... c\n[x]\n", "a b c  \n[x]\n")
    assert not matches("a\n", "a\nb\n")
    assert not matches("[x]\n", "x\n")
