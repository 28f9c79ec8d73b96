"""From elements to Arrow batches in a journal, within the room that it has.

``journal_subscriber.py``  the subscriber that takes elements from upstream into a journal
``room.py``                for how many elements a journal has room
``conversion.py``          from elements to the rows that a journal takes, and which elements do not
                           fit
``schema.py``              the schema of what crosses onto Spark: one description for Arrow, for
                           Spark and for people
``ddl.py``                 reads a schema that is written as in SQL, such as ``flight long, origin
                           string NOT NULL``
"""
