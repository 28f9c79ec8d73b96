"""The 43 rules of Reactive Streams as data: in our own words, with their reasons and history.

``model.py``         what a rule is made of: its words, its reason, the stages that its wording went
                     through
``catalogue.py``     the 43 rules by number: how to look one up, and how an error names the one that
                     was broken
``publisher.py``     Chapter 1: what a publisher owes to its subscribers
``subscriber.py``    Chapter 2: what a subscriber owes to its publisher, and may count on
``subscription.py``  Chapter 3: what request and cancel do, and who may call them
``processor.py``     Chapter 4: what a processor, both subscriber and publisher, owes to both sides
``glossary.py``      the words that the rules use, what we mean by them, and which of several we
                     chose
``page.py``          the catalogue as one Markdown page; ``python -m penstock.rules.page`` prints it
"""

from penstock.rules.catalogue import CHAPTERS, RULES, RuleViolation, cite, rule
from penstock.rules.glossary import GLOSSARY, term
from penstock.rules.model import DocumentStage, Party, Rule, Strength, Term, Wording

__all__ = [
    "CHAPTERS",
    "GLOSSARY",
    "RULES",
    "DocumentStage",
    "Party",
    "Rule",
    "RuleViolation",
    "Strength",
    "Term",
    "Wording",
    "cite",
    "rule",
    "term",
]
