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

sys.path.insert(0, str(Path(__file__).parents[1]))  # Sphinx adds the folder of this file alone
from docs.llms import llms_page
from docs.operators import GROUPS, MOMENTS, group_page, index_page, shortened

# The modules of the reference, one page each.
API_MODULES = (
    "penstock.api",
    "penstock.rules",
    "penstock.runtime",
    "penstock.core",
    "penstock.examples",
    "penstock.guard",
    "penstock.flow",
    "penstock.spark",
    "penstock.connectors",
    "penstock.observe",
    "penstock.pipeline",
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
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["penstock.css"]
html_extra_path = ["generated/llms.txt"]

myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"NewLock": "NewLock"}
autodoc_typehints_format = "short"
napoleon_custom_sections = [*MOMENTS, "Demand", "Errors", "Replay"]

# The examples of the docstrings use the public names as a reader would.
doctest_global_setup = "\n".join(f"from {module} import *" for module in API_MODULES)

GENERATED = Path(__file__).parent / "generated"
RULES_PAGE = "penstock.rules.page"

# A row of the two-column tables in our docstrings: ``name``, two spaces or more, explanation.
TABLE_ROW = re.compile(r"(``.+?``) {2,}(\S.*)")

API_PAGE = """# `{module}`

```{{eval-rst}}
.. automodule:: {module}
   :exclude-members: {excluded}
```
"""

# What operators return, and nobody makes by hand.
MADE_BY_OPERATORS = ("Connection", "Emitter", "Flow", "GroupedFlow", "SharedFlow")

# The methods of Flow stand in its bases, and operators return classes that nobody has to import.
FLOW_PAGE = """
```{eval-rst}
.. autoclass:: penstock.flow.Flow
   :inherited-members:
   :no-show-inheritance:

.. autoclass:: penstock.flow.Emitted
   :undoc-members:

.. automodule:: penstock.flow.explain.explanation
```
"""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", write_generated_pages)
    app.connect("autodoc-process-docstring", shorten_operators, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", set_tables)
    app.connect("autodoc-process-signature", hide_constructors)


def write_generated_pages(_: Sphinx) -> None:
    """Write the pages that the code knows better than any author."""
    pages = {"rules": rules_page(), "operators": index_page()}
    pages |= {group.page: group_page(group) for group in GROUPS}
    pages |= {module: api_page(module) for module in API_MODULES}
    GENERATED.mkdir(exist_ok=True)
    for page in GENERATED.glob("*.md"):
        if page.stem not in pages:
            page.unlink()  # of a module that had another name when the pages were made last
    for name, content in pages.items():
        write_if_changed(GENERATED / f"{name}.md", content)


def api_page(module: str) -> str:
    """The page of a module."""
    is_flow = module == "penstock.flow"
    excluded = [*(["Flow", "Emitted"] if is_flow else []), *guests(module)]
    page = API_PAGE.format(module=module, excluded=", ".join(excluded))
    return page + FLOW_PAGE if is_flow else page


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


def shorten_operators(
    _app: Sphinx, _kind: str, name: str, _of: object, _how: object, lines: list[str]
) -> None:
    """The operators have pages of their own."""
    if name.startswith("penstock.flow."):
        lines[:] = shortened("\n".join(lines), name.rpartition(".")[2]).split("\n")


def hide_constructors(
    _app: Sphinx, kind: str, name: str, *_: object
) -> tuple[str, str | None] | None:
    """A class that users never call has no signature for them."""
    hidden = kind == "class" and name.rpartition(".")[2] in MADE_BY_OPERATORS
    return ("", None) if hidden else None


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


# Sphinx looks for it before it calls anybody.
GENERATED.mkdir(exist_ok=True)
write_if_changed(GENERATED / "llms.txt", llms_page())
