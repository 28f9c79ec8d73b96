"""How a flow goes on after a restart: the position of each element, and what a new run needs of it.

``planning.py``    how a flow goes on after a restart, found by looking at what it is made of
``resumption.py``  an element and its position, which is where a new run goes on downstream of it
``concat_map.py``  how ``concat_map`` goes on after a restart: with the flow of the element that was
                   under way
"""
