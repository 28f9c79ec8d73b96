"""Whether the state in a checkpoint still means the same.

``state_change.py``  a checkpoint remembers what the state in it means, so that no other meaning is
                     put on it
``state_plan.py``    what the state of a query means, as text that stays the same as long as the
                     meaning does
"""
