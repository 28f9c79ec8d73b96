"""Files of lines, JSON or CSV, as sources and sinks.

``json_lines.py``       files with one element on each line, as JSON: a source and a sink
``csv_files.py``        CSV files: a source and a sink
``from_file.py``        what sources of complete files share
``tail.py``             files of JSON lines as sources: those that grow
``followed_log.py``     a log that grows, through all the files that it becomes when it is rotated
``tailed_file.py``      a file that grows, opened at a byte: its lines, and how to tell it from
                        every other file
``rotated_files.py``    the earlier files of a log: the names that they get when it is rotated, and
                        what is in them
``text_file.py``        a file of lines as a sink that has each row once, over kills and restarts of
                        a checkpoint
``file_start.py``       where a sink begins in its file: decided by what is there, without touching
                        it
``rotation.py``         a file of lines that is rotated: when, and under which names its earlier
                        parts stay
``delivery_record.py``  the record beside a file: up to where it counts, and which batch that was
"""
