"""The catalogue is complete, consistent, and says what an error message needs."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from penstock.rules import CHAPTERS, RULES, DocumentStage, Party, Rule, Strength, cite, rule
from penstock.rules.model import history

EVERY_RULE = pytest.mark.parametrize("entry", RULES.values(), ids=RULES)
RELEASES = [
    DocumentStage.V1_0_0,
    DocumentStage.V1_0_1,
    DocumentStage.V1_0_2,
    DocumentStage.V1_0_3,
    DocumentStage.V1_0_4,
]
# A row of `penstock spec` has 80 columns, of which the other cells take 28.
LONGEST_SUMMARY = 52


def test_the_43_rules_are_numbered_as_in_the_document() -> None:
    lengths = {"1": 11, "2": 13, "3": 17, "4": 2}
    expected = [f"{chapter}.{n}" for chapter in lengths for n in range(1, lengths[chapter] + 1)]
    assert list(RULES) == expected
    assert {chapter: len(rules) for chapter, rules in CHAPTERS.items()} == lengths


def test_36_rules_are_mandatory_two_recommended_and_five_permissions() -> None:
    assert Counter(entry.strength for entry in RULES.values()) == {
        "MUST": 36,
        "SHOULD": 2,
        "MAY": 5,
    }
    assert [n for n, entry in RULES.items() if entry.strength is Strength.SHOULD] == ["2.2", "3.4"]
    assert [n for n, entry in RULES.items() if entry.strength is Strength.MAY] == [
        "1.2",
        "1.11",
        "3.10",
        "3.11",
        "3.14",
    ]


def test_a_rule_binds_the_party_of_its_chapter_with_four_exceptions() -> None:
    parties = dict(zip(CHAPTERS, Party, strict=False))
    others = {n: entry.binds for n, entry in RULES.items() if entry.binds != parties[n[0]]}
    assert others == {
        "1.10": Party.CALLER,
        "2.12": Party.PUBLISHER,
        "3.1": Party.SUBSCRIBER,
        "3.14": Party.PUBLISHER,
    }


def test_the_marks_of_the_checklist_are_kept_as_they_were() -> None:
    marked = {
        mark: " ".join(n for n, entry in RULES.items() if entry.checklist == mark) for mark in "+-"
    }
    assert marked == {
        "+": "1.3 1.4 1.5 1.6 1.9 1.11 2.1 2.4 2.5 2.6 2.13 3.8 3.9",
        "-": "1.7 1.10 2.2 2.3 2.9 2.10 2.12 3.1 3.4 3.10 3.11 3.13 3.14 3.15 3.16",
    }


@EVERY_RULE
def test_every_summary_fits_into_an_error_message(entry: Rule) -> None:
    assert 0 < len(entry.summary) <= LONGEST_SUMMARY
    assert not entry.summary.endswith(".")
    assert "\n" not in entry.summary


def test_no_two_rules_have_the_same_summary() -> None:
    assert len({entry.summary for entry in RULES.values()}) == len(RULES)


@EVERY_RULE
def test_every_text_says_how_firmly_it_binds(entry: Rule) -> None:
    assert re.search(rf"\b{entry.strength}\b", entry.text)
    # The strongest word decides: nothing stronger stands in a weaker rule.
    stronger = list(Strength)[: list(Strength).index(entry.strength)]
    assert [word for word in stronger if re.search(rf"\b{word}\b", entry.text)] == []


@EVERY_RULE
def test_every_rule_is_written_in_full_sentences(entry: Rule) -> None:
    changed = [change.text for change in entry.changes]
    for sentences in filter(None, [entry.text, entry.intent, entry.python, *changed]):
        assert sentences.endswith(".")
        assert "  " not in sentences
        assert sentences == sentences.strip()
    assert entry.text
    assert entry.intent


@EVERY_RULE
def test_every_rule_speaks_of_python_names(entry: Rule) -> None:
    words = f"{entry.summary} {entry.text} {entry.intent} {entry.python}"
    assert re.findall(r"\bon[A-Z]\w*|\bnull\b|\bNOPs?\b", words) == []


@EVERY_RULE
def test_related_rules_exist_and_name_each_other(entry: Rule) -> None:
    assert entry.related
    assert entry.number not in entry.related
    assert list(entry.related) == [n for n in RULES if n in entry.related]
    assert [n for n in entry.related if entry.number not in RULES[n].related] == []


@EVERY_RULE
def test_every_rule_named_in_a_text_exists(entry: Rule) -> None:
    texts = [entry.text, entry.intent, entry.python, *(change.text for change in entry.changes)]
    named = re.findall(r"\brules? (\d\.\d+)(?: and (\d\.\d+))?", " ".join(texts))
    assert [n for pair in named for n in pair if n and n not in RULES] == []


@EVERY_RULE
def test_every_history_goes_through_the_stages_in_order(entry: Rule) -> None:
    stages = [wording.stage for wording in entry.history]
    assert stages == [stage for stage in DocumentStage if stage in stages]
    assert [stage for stage in RELEASES if stage not in stages] == []
    assert entry.history[0].changed, "what is first said somewhere is said in words"


def test_the_checklist_holds_the_first_three_chapters() -> None:
    listed = [
        n
        for n, entry in RULES.items()
        if any(wording.stage is DocumentStage.CHECKLIST for wording in entry.history)
    ]
    assert listed == [n for n in RULES if not n.startswith("4")]


def test_the_releases_changed_the_wording_that_their_notes_name() -> None:
    changed = {
        stage: [
            n for n, entry in RULES.items() if stage in {wording.stage for wording in entry.changes}
        ]
        for stage in (DocumentStage.V1_0_2, DocumentStage.V1_0_3, DocumentStage.V1_0_4)
    }
    assert changed == {
        # 1.3 and 3.5 use the word thread-safe, which 1.0.2 defined.
        DocumentStage.V1_0_2: ["1.3", "2.2", "2.8", "3.5"],
        DocumentStage.V1_0_3: ["1.3", "2.1", "2.5", "2.7"],
        DocumentStage.V1_0_4: ["2.7"],
    }


def test_a_stage_without_text_left_the_wording_as_it_was() -> None:
    wordings = history(draft="so", v1_0_0="", v1_0_1="otherwise", checklist=None)
    assert [wording.stage for wording in wordings] == [DocumentStage.DRAFT, *RELEASES]
    assert [wording.stage for wording in wordings if wording.changed] == [
        DocumentStage.DRAFT,
        DocumentStage.V1_0_1,
    ]


def test_the_checklist_does_not_count_as_the_last_change_of_the_document() -> None:
    assert rule("3.9").changes[-1].stage is DocumentStage.CHECKLIST
    assert rule("3.9").unchanged_since is DocumentStage.V1_0_1


def test_a_rule_is_found_by_its_number() -> None:
    assert rule("3.9") is RULES["3.9"]
    assert rule("3.9").chapter == "3"


@pytest.mark.parametrize(
    ("number", "nearest"),
    [("3.18", "3.8"), ("3.09", "3.9"), ("309", "3.9"), ("5.1", "4.1"), ("4.", "4.2")],
)
def test_an_unknown_number_is_answered_by_what_exists_and_the_nearest(
    number: str, nearest: str
) -> None:
    with pytest.raises(ValueError, match="there is no rule") as error:
        rule(number)
    assert str(error.value) == (
        f"there is no rule {number!r}, only 1.1 to 1.11, 2.1 to 2.13, 3.1 to 3.17, 4.1 to 4.2; "
        f"did you mean {nearest!r}?"
    )


def test_a_number_like_no_other_gets_no_guess() -> None:
    with pytest.raises(ValueError, match=r"there is no rule 'seven', only .*, 4\.1 to 4\.2$"):
        rule("seven")


def test_the_catalogue_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        RULES["3.9"] = RULES["3.8"]  # type: ignore[index]  # the point of the test
    with pytest.raises(AttributeError):
        RULES["3.9"].summary = ""  # type: ignore[misc]  # the point of the test


def test_a_citation_is_one_line_with_the_detail_first() -> None:
    assert cite("3.9", "request(0) asks for nothing") == (
        "request(0) asks for nothing (rule 3.9: request takes a positive number)"
    )


def test_a_citation_of_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no rule '9\.9'"):
        cite("9.9", "something happened")
