"""The glossary covers the words of the rules, and each word names the rules that use it."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from penstock.rules import GLOSSARY, RULES, Rule, Term, term

EVERY_TERM = pytest.mark.parametrize("entry", GLOSSARY.values(), ids=GLOSSARY)
IRREGULAR_FORMS = {"send": ("sent",)}


def test_the_terms_are_in_alphabetical_order() -> None:
    assert list(GLOSSARY) == sorted(GLOSSARY)


@pytest.mark.parametrize(
    "word",
    [
        *("signal", "demand", "synchronous", "return normally", "responsivity"),
        *("non-obstructing", "terminal state", "NOP", "external synchronization"),
        *("serially", "thread-safe", "signaller", "emit", "send", "fail", "failure", "failing"),
        *("element", "item", "data", "upstream", "downstream", "call", "invoke"),
        *("end of stream", "end-of-stream", "happens-before", "asynchronous"),
    ],
)
def test_every_word_of_the_document_and_its_review_is_explained(word: str) -> None:
    entry = term(word)
    assert word in {entry.name, *entry.aliases}


@pytest.mark.parametrize(
    ("left", "chosen"),
    [
        ("emit", "send"),
        ("item", "element"),
        ("invoke", "call"),
        ("end-of-stream", "terminal state"),
    ],
)
def test_where_the_review_asks_to_choose_the_entry_says_what_we_use(left: str, chosen: str) -> None:
    assert term(left).name == chosen
    assert f"We use {chosen}" in term(left).usage


def test_no_name_stands_for_two_terms() -> None:
    names = Counter(
        name.lower() for entry in GLOSSARY.values() for name in (entry.name, *entry.aliases)
    )
    assert [name for name, count in names.items() if count > 1] == []


@EVERY_TERM
def test_every_term_is_explained_in_full_sentences(entry: Term) -> None:
    assert entry.meaning.endswith(".")
    assert not entry.usage or entry.usage.endswith(".")


@EVERY_TERM
def test_every_term_lists_exactly_the_rules_that_use_it(entry: Term) -> None:
    assert list(entry.rules) == [n for n, candidate in RULES.items() if uses(candidate, entry)]


def uses(candidate: Rule, entry: Term) -> bool:
    words = (entry.name, *entry.aliases, *IRREGULAR_FORMS.get(entry.name, ()))
    pattern = rf"\b(?:{'|'.join(map(re.escape, words))})(?:s|ed|led|ling|ing|ly)?\b"
    return re.search(pattern, f"{candidate.text} {candidate.intent}", re.IGNORECASE) is not None


def test_a_term_is_found_by_any_of_its_names_in_any_case() -> None:
    assert term("nop") is term("No-Op") is GLOSSARY["no-op"]


def test_an_unknown_term_is_answered_by_what_exists_and_the_nearest() -> None:
    with pytest.raises(ValueError, match="there is no term 'deman', only asynchronous, call, "):
        term("deman")
    with pytest.raises(ValueError, match=r"did you mean 'demand'\?$"):
        term("deman")


def test_the_beginning_of_a_name_is_enough_for_a_guess() -> None:
    with pytest.raises(ValueError, match=r"did you mean 'external synchronization'\?$"):
        term("ext")
