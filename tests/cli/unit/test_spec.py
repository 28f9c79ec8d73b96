"""``penstock spec`` shows rules and terms, readable for people and for programs."""

from __future__ import annotations

import json
import re

import pytest
from click.testing import CliRunner, Result

from penstock.cli.application import application
from penstock.rules import CHAPTERS, GLOSSARY, RULES


def spec(*arguments: str) -> Result:
    return CliRunner().invoke(application, ["spec", *arguments])


def test_without_arguments_all_rules_are_listed_in_order() -> None:
    done = spec()
    assert done.exit_code == 0
    rows = re.findall(r"^(\d\.\d+) +(\w+) +(\w+) +(.*)$", done.output, re.MULTILINE)
    assert rows == [
        (entry.number, entry.strength, entry.binds, entry.summary) for entry in RULES.values()
    ]


@pytest.mark.parametrize("arguments", [(), ("1", "2", "3", "4"), ("--glossary",)])
def test_piped_output_is_plain_and_at_most_80_columns_wide(arguments: tuple[str, ...]) -> None:
    lines = spec(*arguments).output.splitlines()
    assert max(map(len, lines)) <= 80
    assert [line for line in lines if line != line.rstrip() or "\x1b" in line] == []


def test_the_width_of_a_terminal_elsewhere_does_not_cut_piped_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wanted = spec().output
    monkeypatch.setenv("COLUMNS", "30")
    assert spec().output == wanted


def test_a_number_shows_everything_about_its_rule() -> None:
    done = spec("3.9")
    entry = RULES["3.9"]
    assert done.exit_code == 0
    output = " ".join(done.output.split())
    assert f"Rule 3.9: {entry.summary}" in output
    assert "MUST, binds the subscription; marked + in the checklist" in output
    for part in (
        entry.text,
        entry.intent,
        entry.python,
        *(change.text for change in entry.changes),
    ):
        assert part in output
    for change in entry.changes:
        assert change.stage.title in output
    assert "Unchanged since 1.0.1." in output
    for number in entry.related:
        assert f"{number} {RULES[number].summary}" in output


def test_several_numbers_show_several_rules_in_the_order_given() -> None:
    assert shown(spec("3.16", "1.1")) == ["3.16", "1.1"]


def test_a_chapter_shows_all_of_its_rules() -> None:
    assert shown(spec("3")) == [entry.number for entry in CHAPTERS["3"]]


def test_a_rule_that_is_named_twice_is_shown_once() -> None:
    assert shown(spec("4", "4.1")) == ["4.1", "4.2"]


def test_the_glossary_lists_all_terms() -> None:
    done = spec("--glossary")
    assert done.exit_code == 0
    assert [name for name in GLOSSARY if f"\n{name}  " not in f"\n{done.output}"] == []


def test_a_term_is_explained_with_its_aliases_and_rules() -> None:
    done = spec("--glossary", "NOP")
    output = " ".join(done.output.split())
    entry = GLOSSARY["no-op"]
    assert done.exit_code == 0
    assert output.startswith(f"no-op {entry.meaning}")
    assert entry.usage in output
    assert "Also NOP, no operation" in output
    assert f"3.6 {RULES['3.6'].summary}" in output


def test_json_of_all_rules_is_a_list_with_every_field() -> None:
    records = json.loads(spec("--json").stdout)
    assert [record["number"] for record in records] == list(RULES)
    assert {" ".join(record) for record in records} == {
        "number binds strength summary text intent python related checklist history"
    }


def test_json_of_one_rule_is_a_list_of_one_with_readable_stages() -> None:
    (record,) = json.loads(spec("3.9", "--json").stdout)
    assert record["strength"] == "MUST"
    assert record["checklist"] == "+"
    assert record["related"] == list(RULES["3.9"].related)
    assert [wording["stage"] for wording in record["history"]] == [
        *("earliest notes", "SPI draft", "1.0.0", "1.0.1", "1.0.2", "1.0.3", "checklist", "1.0.4")
    ]


def test_json_of_the_glossary_holds_all_terms_or_the_one_asked_for() -> None:
    assert [r["name"] for r in json.loads(spec("--glossary", "--json").stdout)] == list(GLOSSARY)
    (record,) = json.loads(spec("--glossary", "emit", "--json").stdout)
    assert record["name"] == "send"
    assert record["rules"] == list(GLOSSARY["send"].rules)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["3.18"], r"there is no rule '3\.18', only 1\.1 to .*; did you mean '3\.8'\?"),
        (["1.1", "5"], r"there is no rule '5', only 1\.1 to .*"),
        (["--json", "3.18"], r"there is no rule '3\.18', only .*"),
        (["--glossary", "deman"], r"there is no term 'deman', only .*; did you mean 'demand'\?"),
    ],
)
def test_an_unknown_name_is_one_sentence_on_stderr_and_exit_code_2(
    arguments: list[str], message: str
) -> None:
    done = spec(*arguments)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert re.fullmatch(f"Error: {message}\n", done.stderr)


def shown(done: Result) -> list[str]:
    assert done.exit_code == 0
    return re.findall(r"^Rule (\d\.\d+): ", done.output, re.MULTILINE)
