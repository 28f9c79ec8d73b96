"""The 43 rules of Reactive Streams as data: in our own words, with their reasons and history.

One module per chapter holds the rules (``publisher``, ``subscriber``, ``subscription``,
``processor``), ``glossary`` the words that they use. ``catalogue`` looks rules up, ``violation``
is the exception for a broken one, and ``page`` renders all of it as Markdown.
"""

from penstock.rules.catalogue import CHAPTERS, RULES, cite, rule
from penstock.rules.glossary import GLOSSARY, term
from penstock.rules.history import Stage, Wording
from penstock.rules.model import Party, Rule, Strength, Term
from penstock.rules.violation import RuleViolation

__all__ = [
    "CHAPTERS",
    "GLOSSARY",
    "RULES",
    "Party",
    "Rule",
    "RuleViolation",
    "Stage",
    "Strength",
    "Term",
    "Wording",
    "cite",
    "rule",
    "term",
]
