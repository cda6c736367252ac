"""Write into docs/write-a-store.md the code that it quotes, as it stands in the files.

A comment above a fenced block says what the block holds: a file, and names of functions,
classes, methods or constants in it.

    <!-- core/src/gnl_core/spi/jobs.py: JobStore.claim -->
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "write-a-store.md"
QUOTE = re.compile(r"^(<!-- ([\w./-]+): ([\w., ]+) -->\n```py\n).*?^```$", re.MULTILINE | re.DOTALL)


def quoted(path: str, names: str) -> str:
    """The source of these names, in this order."""
    text = (ROOT / path).read_text(encoding="utf-8")
    tree = ast.parse(text)
    return "\n\n".join(_source(text, _find(tree, name.strip(), path)) for name in names.split(","))


def _find(scope: ast.AST, name: str, path: str) -> ast.stmt:
    first, _, rest = name.partition(".")
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.stmt) and first in _names(node):
            return _find(node, rest, path) if rest else node
    raise ValueError(f"{path} has no {name!r}")


def _names(node: ast.stmt) -> list[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _source(text: str, node: ast.stmt) -> str:
    decorators = getattr(node, "decorator_list", [])
    first = min([node.lineno, *(one.lineno for one in decorators)])
    lines = text.splitlines()[first - 1 : node.end_lineno]
    return textwrap.dedent("\n".join(lines))


def written(page: str) -> str:
    """The page with every quote as the files have it."""
    return QUOTE.sub(lambda found: f"{found[1]}{quoted(found[2], found[3])}\n```", page)


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
