"""Other systems as sources and sinks.

Sources, each a cold ``Flow``:

``websocket_source.py``   messages of a websocket server
``sse_source.py``         server-sent events of an HTTP server
``csv_source.py``, ``json_lines.py``, ``parquet.py``   complete files, by way of ``files.py``
``tail.py``               a file that grows
``standard_input.py``     lines of standard input; ``lines.py`` bounds them, and those of files
``pace.py``               recorded elements, at the pace at which they were recorded

Sinks:

``websocket_server.py``   each connection is a subscriber
``sse_server.py``         the same by server-sent events
``json_lines_sink.py``, ``csv_sink.py``   files of lines
``parquet_sink.py``       a folder of Parquet files
``sqlite_sink.py``        a table in a SQLite database
``standard_output.py``    lines of standard output

And what they are made of:

``frames.py``             the frames by which one end of a websocket asks the other for elements
``credit.py``             demand that is told to the other end
``remote.py``             a source at the other end of a connection
``access.py``             what it shows to be let in; ``tls.py`` whom it trusts
``client_certificate.py`` whether it should show a certificate as well
``bounded_stream.py``     what it reads of server-sent events, and no more of one than is allowed
``reconnecting.py``       a connection that is made anew when it is lost
``positions.py``          sources that go on behind a position
``socket_options.py``     what the system is to do with their connections
``outflow.py``            the subscriber behind one connection of a server
``serving.py``            a server with such a subscriber for each connection
``door.py``               the socket at which it listens; ``requests.py``, what is asked for there
``admission.py``          who is let in; ``strangers.py``, what is logged of the others
``own_loop.py``           an asyncio loop on a thread of its own
``writer.py``             the subscriber that each of the last four sinks is
``text_file.py``          a file that has each row once; ``file_start.py``: where it begins in it
``file_rotation.py``      when such a file is rotated, and what it is called then
``delivery_record.py``    the record beside such a file
``parquet_folder.py``     a folder that has each row once; ``parquet_rows.py``: rows as Arrow
``sqlite_table.py``       a table that has each row once, by ``sqlite_statements.py``
``existing.py``           what becomes of that which is there before
``durable_files.py``      files that outlive a crash
``named_fields.py``       the fields of an element
``sse_events.py``, ``json_text.py``, ``remote_error.py``, ``arguments.py``   smaller things

A part is loaded when it is used, and with it the packages that it needs.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.connectors.csv_sink import write_csv
    from penstock.connectors.csv_source import read_csv
    from penstock.connectors.json_lines import read_json_lines
    from penstock.connectors.json_lines_sink import write_json_lines
    from penstock.connectors.pace import replay
    from penstock.connectors.parquet import read_parquet
    from penstock.connectors.parquet_sink import write_parquet
    from penstock.connectors.remote_error import RemoteError
    from penstock.connectors.requests import Request
    from penstock.connectors.serving import Server
    from penstock.connectors.sqlite_sink import write_sqlite
    from penstock.connectors.sse_events import Event
    from penstock.connectors.sse_server import serve_server_sent_events
    from penstock.connectors.sse_source import from_server_sent_events
    from penstock.connectors.standard_input import read_standard_input
    from penstock.connectors.standard_output import write_standard_output
    from penstock.connectors.tail import Line, tail_json_lines
    from penstock.connectors.websocket_server import serve_websocket
    from penstock.connectors.websocket_source import from_websocket
    from penstock.connectors.writer import Writer

__all__ = [
    "Event",
    "Line",
    "RemoteError",
    "Request",
    "Server",
    "Writer",
    "from_server_sent_events",
    "from_websocket",
    "read_csv",
    "read_json_lines",
    "read_parquet",
    "read_standard_input",
    "replay",
    "serve_server_sent_events",
    "serve_websocket",
    "tail_json_lines",
    "write_csv",
    "write_json_lines",
    "write_parquet",
    "write_sqlite",
    "write_standard_output",
]

_MODULES = {
    "Event": "sse_events",
    "Line": "tail",
    "RemoteError": "remote_error",
    "Request": "requests",
    "Server": "serving",
    "Writer": "writer",
    "from_server_sent_events": "sse_source",
    "from_websocket": "websocket_source",
    "read_csv": "csv_source",
    "read_json_lines": "json_lines",
    "read_parquet": "parquet",
    "read_standard_input": "standard_input",
    "replay": "pace",
    "serve_server_sent_events": "sse_server",
    "serve_websocket": "websocket_server",
    "tail_json_lines": "tail",
    "write_csv": "csv_sink",
    "write_json_lines": "json_lines_sink",
    "write_parquet": "parquet_sink",
    "write_sqlite": "sqlite_sink",
    "write_standard_output": "standard_output",
}

_EXTRAS = {"pyarrow": "parquet"}


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """Load a part when it is used; a package that is missing is named, with what installs it."""
    from importlib import import_module

    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{module}"), name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(missing, "connectors")
        raise ModuleNotFoundError(
            f"{name} needs {missing}, which is not installed: pip install 'penstock[{extra}]'",
            name=error.name,
        ) from None
