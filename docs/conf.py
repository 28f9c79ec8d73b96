"""How Sphinx builds the documentation; ``python3 dev.py docs`` runs it."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ConfigError

# The modules of the reference, one page each.
API_MODULES = (
    "penstock.api",
    "penstock.rules",
    "penstock.runtime",
    "penstock.demand",
    "penstock.reference",
    "penstock.guard",
    "penstock.testing",
    "penstock.tck",
)

project = "Penstock"
author = "The Penstock authors"
release = importlib.metadata.version("penstock")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.doctest", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Penstock"

myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"NewLock": "NewLock"}
autodoc_typehints_format = "short"
napoleon_custom_sections = ["Demand", "Errors"]

# The examples of the docstrings use the public names as a reader would.
doctest_global_setup = "\n".join(f"from {module} import *" for module in API_MODULES)

GENERATED = Path(__file__).parent / "generated"
RULES_PAGE = "penstock.rules.page"

# A row of the two-column tables in our docstrings: ``name``, two spaces or more, explanation.
TABLE_ROW = re.compile(r"(``.+?``) {2,}(\S.*)")

API_PAGE = """# `{module}`

```{{eval-rst}}
.. automodule:: {module}
   :exclude-members: {guests}
```
"""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_generated_pages)
    app.connect("autodoc-process-docstring", set_tables)


def write_generated_pages(_: Sphinx) -> None:
    """Write the pages that the code knows better than any author."""
    GENERATED.mkdir(exist_ok=True)
    write_if_changed(GENERATED / "rules.md", rules_page())
    for module in API_MODULES:
        page = API_PAGE.format(module=module, guests=", ".join(guests(module)))
        write_if_changed(GENERATED / f"{module}.md", page)


def guests(module_name: str) -> list[str]:
    """The names that a module re-exports from another one, where they are described."""
    module = importlib.import_module(module_name)
    homes = {name: getattr(getattr(module, name), "__module__", None) for name in module.__all__}
    return [
        name
        for name, home in homes.items()
        if home and home.startswith("penstock.") and not home.startswith(module_name)
    ]


def rules_page() -> str:
    """The page of the 43 rules, as the module prints it."""
    if importlib.util.find_spec(RULES_PAGE) is None:
        raise ConfigError(f"{RULES_PAGE}, which prints the page of the rules, is missing.")
    return subprocess.check_output([sys.executable, "-m", RULES_PAGE], encoding="utf-8")


def write_if_changed(path: Path, content: str) -> None:
    """Sphinx reads only files again whose time has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != content:
        path.write_text(content, encoding="utf-8")


def set_tables(
    _app: Sphinx, _kind: str, _name: str, _of: object, _how: object, lines: list[str]
) -> None:
    """Turn each two-column table, plain text in a docstring, into a definition list."""
    result: list[str] = []
    in_table = False
    for line in lines:
        begins = in_table or not result or not result[-1]
        if begins and (row := TABLE_ROW.fullmatch(line)):
            result += [row[1], "    " + row[2]]
            in_table = True
        elif in_table and line.startswith(" "):
            result.append("    " + line.strip())
        else:
            result.append(line)
            in_table = False
    lines[:] = result
