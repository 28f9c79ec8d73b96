"""The 43 rules of Reactive Streams as data: in our own words, with their reasons and history.

``model.py``         what a rule and a term of the glossary are made of
``catalogue.py``     the 43 rules by number, how to look one up and how to name one in an error
                     message
``publisher.py``     Chapter 1: what a publisher owes to its subscribers
``subscriber.py``    Chapter 2: what a subscriber owes to its publisher, and may count on
``subscription.py``  Chapter 3: what request and cancel do, and who may call them
``processor.py``     Chapter 4: what a processor, both subscriber and publisher, owes to both sides
``history.py``       how the wording of a rule changed: the stages of the document and what each of
                     them said
``glossary.py``      the words that the rules use, what we mean by them, and which of several we
                     chose
``violation.py``     the exception for a rule that somebody broke
``page.py``          the catalogue as one Markdown page; ``python -m penstock.rules.page`` prints it
"""

from penstock.rules.catalogue import CHAPTERS, RULES, cite, rule
from penstock.rules.glossary import GLOSSARY, term
from penstock.rules.history import DocumentStage, Wording
from penstock.rules.model import Party, Rule, Strength, Term
from penstock.rules.violation import RuleViolation

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
