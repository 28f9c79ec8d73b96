"""Names are never code, wherever a flow writes code: not even those that look like it."""

from __future__ import annotations

import json
import subprocess
import sys
from types import SimpleNamespace
from typing import Final

import pytest

from penstock.flow import Flow, X

HOSTILE: Final = {
    "a call": "real + ran.append(1)",
    "an import": "real or __import__('os').getpid()",
    "a line": "real\n    ran.append(1)\n    x = x",
    "a carriage return": "real\rran.append(1)",
    "a comment": "real # and nothing more",
    "a quote": "real' + '",
    "two quotes": 'real" + "',
    "a backtick": "real`",
    "a place": "real{x}",
    "a numbered place": "real{0}",
    "an open brace": "real{",
    "a bracket": "real)",
    "a dot": "real.imag",
    "an equals sign": "real=1, imag",
    "a space": "real imag",
    "nothing": "",
    "a number": "1",
    "a keyword": "lambda",
    "a constant": "None",
    "a ligature": "\ufb01rst",
    "a wide letter": "\uff52eal",
    "a wide keyword": "\uff2eone",
    "wide underlines": "\uff3f\uff3fclass\uff3f\uff3f",
    "a null": "real\0",
    "half a letter": "real\ud800",
}


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_an_attribute_that_is_no_name_is_refused_when_it_is_given(name: str) -> None:
    with pytest.raises(AttributeError, match="X takes a name as an attribute"):
        getattr(X, name)


@pytest.mark.parametrize("name", [*HOSTILE.values(), "__debug__"], ids=[*HOSTILE, "debug"])
def test_a_keyword_that_is_no_name_is_refused_when_it_is_given(name: str) -> None:
    with pytest.raises(TypeError, match="X takes a name as a keyword"):
        X.function(**{name: 1})


@pytest.mark.parametrize("name", ["größe", "名前", "match", "type", "_", "_private", "x", "host"])
def test_a_name_of_any_language_is_an_attribute_and_a_keyword(name: str) -> None:
    element = SimpleNamespace(**{name: 3}, call=lambda **keywords: keywords)
    assert Flow.of(element).map(getattr(X, name)).run_sync() == 3
    assert Flow.of(element).map(X.call(**{name: 4})).run_sync() == {name: 4}


WATCHED = """
import json, sys
from penstock.flow import Flow, X

texts, names = [], json.load(sys.stdin)
sys.addaudithook(lambda event, given: texts.append(str(given[0])) if event == "compile" else None)
for name in names:
    key = {name: name}
    flow = (
        Flow.of(key, key)
        .named(name, tag=name)
        .annotate_errors(name)
        .map(X[name])
        .filter(X == name)
        .map(X + name)
        .distinct_until_changed(X.count(name))
        .scan(name, lambda total, x: total + x)
        .group_by(lambda x: name)
        .flat_map(lambda group: group)
        .buffer(2, until=X == name)
        .log(name)
    )
    assert flow.to_list().run_sync()
generated = [text for text in texts if "def segment" in text]
assert generated
json.dump([name for name in names if any(name in text for text in generated)], sys.stdout)
"""


def test_no_text_of_a_user_is_in_the_code_that_a_flow_runs() -> None:
    """Python itself tells what it compiles. Each name is long, so that none is there by chance."""
    names = [f"hostile {name} hostile" for name in HOSTILE.values() if name.isprintable()]
    ran = subprocess.run(
        [sys.executable, "-c", WATCHED],
        input=json.dumps(names),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "[]"), ran.stderr


READ = """
import json, sys
from penstock.pipeline.settings import read_assignments
from penstock.testing.marbles import read_marbles

names, ran = json.load(sys.stdin), []
for name in ["a", *names]:
    sys.addaudithook(lambda event, given: ran.append(event))
    before = len(ran)
    try:
        read_marbles(name)
    except ValueError:
        pass
    read_assignments([f"key={name}"])["key"].value
    assert not {"compile", "exec", "import"} & {*ran[before:]} or name == "a", (name, ran[before:])
"""


def test_marbles_and_settings_are_read_and_not_run() -> None:
    """Python itself tells what it compiles, runs and loads; the first time it loads what reads."""
    names = [name for name in HOSTILE.values() if name.isprintable()] + ["a\nb = 1", "{a = [}"]
    subprocess.run(
        [sys.executable, "-c", READ], input=json.dumps(names), encoding="utf-8", check=True
    )
