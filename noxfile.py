"""Every check of this repository. `nox` runs them all, `nox -s NAME` one of them."""

from __future__ import annotations

import datetime
import re
import shutil
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).parent
WHEELS = ROOT / "build" / "wheels"
SERVERS = {"gnl-store-postgres": "postgres"}
"""Stores that need a server to run a job, and which server the kit shall start."""
EXAMPLE = "examples/store_on_files"
"""The package of the page "Write a store": installed for its tests, not built."""

STORES = {
    "memory": "core/tests/test_conformance.py:TestMemory",
    "sqlite": "stores/gnl-store-sqlite/tests/test_conformance.py:TestSqlite",
    "postgres": "stores/gnl-store-postgres/tests/test_conformance.py:TestPostgres",
}
"""Every store, with the harness by which the conformance kit grades it."""
TIERS = {
    "memory": ("cases", "model", "world"),
    "sqlite": ("cases", "model", "process"),
    "postgres": ("cases", "model", "process"),
}
"""The tiers that apply: worlds need a store in the process, the process tier one outside."""
NIGHT = {"seeds": 1_000, "seconds": 120}
"""How much the long run does; without it a store is graded within five minutes."""

PYTHON_OF_KIT: list[str] = []
"""Left by the session `kit` to those that require it."""

nox.needs_version = ">=2024.10.9"
nox.options.sessions = ["lint", "types", "docs", "wheels", "tests"]
nox.options.error_on_external_run = True

GROUPS = nox.project.load_toml(ROOT / "pyproject.toml")


def _group(name: str) -> list[str]:
    return list(nox.project.dependency_groups(GROUPS, name))


def _distributions() -> list[str]:
    """Folder of each distribution, relative to the root: what others build on comes first."""
    found = ROOT.glob("*/pyproject.toml"), ROOT.glob("stores/*/pyproject.toml")
    folders = {p.parent.relative_to(ROOT).as_posix() for paths in found for p in paths}
    return sorted(folders, key=lambda f: (f != "core", f != "stores/gnl-store-sql", f))


def _editable() -> list[str]:
    """What installs every distribution from this checkout, the kit with all that it can use."""
    extras = {"conformance": "[pytest,model,containers]"}
    folders = [f"./{f}{extras.get(f, '')}" for f in _distributions()]
    return [part for folder in [*folders, f"./{EXAMPLE}"] for part in ("-e", folder)]


def _install_all(session: nox.Session, *groups: str) -> None:
    """Every distribution from this checkout, and the tools of some groups."""
    session.install("-q", *_editable(), *(need for group in groups for need in _group(group)))


@nox.session
def lint(session: nox.Session) -> None:
    """Style, imports between the parts, sizes, and what must not be in the tree."""
    _install_all(session, "lint")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports", "--no-cache")
    session.run("python", "tools/check_size.py")
    session.run("python", "tools/check_tree.py")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict, one distribution at a time."""
    _install_all(session, "types", "test")
    for folder in _distributions():
        session.run("mypy", f"{folder}/src")
    session.run("mypy", "noxfile.py", "tools", "examples")


@nox.session
def tests(session: nox.Session) -> None:
    """Every test of every distribution; GNL_REQUIRE=all makes a missing server a failure."""
    _install_all(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


def _graded() -> list[object]:
    """Each store with each tier; `nox -t sqlite` runs all of one store."""
    return [
        nox.param(store, tier, id=f"{store}-{tier}", tags=[store])
        for store, tiers in TIERS.items()
        for tier in tiers
    ]


@nox.session(reuse_venv=True)
def kit(session: nox.Session) -> None:
    """Install what `conformance` runs in, once for all stores and tiers."""
    _install_all(session)
    PYTHON_OF_KIT.append(str(Path(session.bin) / "python"))


@nox.session(venv_backend="none", requires=["kit"])
@nox.parametrize(("store", "tier"), _graded())
def conformance(session: nox.Session, store: str, tier: str) -> None:
    """Grade one store by one tier of the kit; `-- long` does more of it, with today's seeds."""
    options = ["--tier", tier, "--require", "--json", f"build/conformance/{store}-{tier}.json"]
    asked = list(session.posargs)
    if "long" in asked:
        asked.remove("long")
        first = datetime.datetime.now(datetime.UTC).date().toordinal() * NIGHT["seeds"]
        seeds = f"{first}-{first + NIGHT['seeds'] - 1}"
        options += ["--seeds", seeds, "--seconds", str(NIGHT["seconds"])]
    command = (PYTHON_OF_KIT[-1], "-m", "gnl_conformance", STORES[store])
    session.run(*command, *options, *asked, external=True)


@nox.session
def snippets(session: nox.Session) -> None:
    """Run the code in README and docs, and nothing else."""
    _install_all(session, "test")
    session.run("python", "-m", "pytest", "docs/tests", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation into site/; a broken link is an error."""
    _install_all(session, "docs")
    session.run("mkdocs", "build", "--strict", "--quiet")
    session.log(f"open {ROOT / 'site' / 'index.html'}")


@nox.session
def build(session: nox.Session) -> None:
    """Build every wheel into build/wheels."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    session.install("-q", "hatchling")
    options = ("--no-deps", "--no-build-isolation", "--wheel-dir", str(WHEELS))
    session.run("pip", "wheel", "-q", *options, *(f"./{f}" for f in _distributions()))


@nox.session(requires=["build"])
@nox.parametrize("folder", [nox.param(f, id=Path(f).name) for f in _distributions()])
def wheels(session: nox.Session, folder: str) -> None:
    """Install one wheel alone, with only what it asks for, and use it."""
    name, ours = _needs(folder)
    session.install("-q", *(str(_wheel(need)) for need in [name, *ours]))
    session.chdir(session.create_tmp())
    session.run("python", str(ROOT / "tools" / "check_wheel.py"), name, *ours)
    if name in SERVERS:
        session.install("-q", str(_wheel("gnl-conformance")))
        check = ROOT / "tools" / "check_server_store.py"
        session.run("python", str(check), SERVERS[name])


def _needs(folder: str) -> tuple[str, list[str]]:
    """Name of a distribution, and all of ours that it is installed with."""
    name, direct = _project(ROOT / folder)
    needs: list[str] = []
    while direct:
        need = direct.pop()
        if need not in needs:
            needs.append(need)
            direct += _project(_folder_of(need))[1]
    return name, sorted(needs)


def _project(folder: Path) -> tuple[str, list[str]]:
    """Name of the distribution in a folder, and what it needs of ours."""
    project = nox.project.load_toml(folder / "pyproject.toml")["project"]
    needs = re.findall(r"^gnl-[a-z-]+", "\n".join(project.get("dependencies", ())), re.MULTILINE)
    return project["name"], needs


def _folder_of(name: str) -> Path:
    return next(ROOT / f for f in _distributions() if _project(ROOT / f)[0] == name)


def _wheel(name: str) -> Path:
    return next(WHEELS.glob(f"{name.replace('-', '_')}-*.whl"))


@nox.session(venv_backend="none")
def dev(session: nox.Session) -> None:
    """Install everything, editable, beside nox: then `python -m pytest` and mypy just work."""
    needs = (need for group in ("lint", "types", "test", "docs") for need in _group(group))
    session.run(sys.executable, "-m", "pip", "install", "-q", *_editable(), *needs, external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Say how to measure: figures mean nothing on a machine that does something else."""
    session.log("see bench/README.md")
