"""Other systems as sources and sinks.

A part is loaded when it is used, and with it the packages that it needs.

``websocket/``           websockets as sources and sinks, with demand over the connection
``sse/``                 server-sent events as sources and sinks
``files/``               files of lines, JSON or CSV, as sources and sinks
``parquet/``             Parquet files as sources and sinks
``delta/``               tables of Delta Lake as sources and sinks, without Spark
``iceberg/``             tables of Apache Iceberg as sources and sinks, without Spark
``kafka/``               topics of Kafka as sources and sinks
``postgres/``            tables of PostgreSQL as sources and sinks
``sqlite/``              tables of SQLite databases as sources and sinks
``duckdb/``              tables of DuckDB databases as sources and sinks
``redis/``               streams of Redis as sources and sinks
``nats/``                streams of NATS JetStream as sources and sinks
``standard_streams.py``  standard input as a source and standard output as a sink
``replaying.py``         recorded elements at the pace at which they were recorded
``shared/``              what the connectors of several systems share
"""

from typing import TYPE_CHECKING, Any

from penstock.on_demand import loader

if TYPE_CHECKING:
    from penstock.connectors.delta.sink import write_delta
    from penstock.connectors.delta.source import read_delta
    from penstock.connectors.duckdb.sink import write_duckdb
    from penstock.connectors.duckdb.source import read_duckdb
    from penstock.connectors.files.csv_files import read_csv, write_csv
    from penstock.connectors.files.json_lines import read_json_lines, write_json_lines
    from penstock.connectors.files.tail import Line, tail_json_lines
    from penstock.connectors.iceberg.sink import write_iceberg
    from penstock.connectors.iceberg.source import read_iceberg
    from penstock.connectors.kafka.messages import KafkaMessage, KafkaMessages
    from penstock.connectors.kafka.sink import write_kafka
    from penstock.connectors.kafka.source import read_kafka
    from penstock.connectors.nats.messages import JetStreamMessage
    from penstock.connectors.nats.sink import write_jetstream
    from penstock.connectors.nats.source import read_jetstream
    from penstock.connectors.parquet.sink import write_parquet
    from penstock.connectors.parquet.source import read_parquet
    from penstock.connectors.postgres.changes import Change, read_postgres_changes
    from penstock.connectors.postgres.sink import write_postgres
    from penstock.connectors.postgres.source import read_postgres
    from penstock.connectors.redis.sink import write_redis_stream
    from penstock.connectors.redis.source import Entry, read_redis_stream
    from penstock.connectors.replaying import replay
    from penstock.connectors.shared.admission import Request
    from penstock.connectors.shared.connection_errors import RemoteError
    from penstock.connectors.shared.granted_source import GrantedSource, from_granted
    from penstock.connectors.shared.pulled_source import PulledSource, from_pulled
    from penstock.connectors.shared.reconnecting import ConnectionLost
    from penstock.connectors.shared.server import Server
    from penstock.connectors.shared.writer import Writer
    from penstock.connectors.sqlite.sink import write_sqlite
    from penstock.connectors.sqlite.source import read_sqlite
    from penstock.connectors.sse.events import Event
    from penstock.connectors.sse.server import serve_server_sent_events
    from penstock.connectors.sse.source import from_server_sent_events
    from penstock.connectors.standard_streams import read_standard_input, write_standard_output
    from penstock.connectors.websocket.server import serve_websocket
    from penstock.connectors.websocket.source import from_websocket

__all__ = [
    "Change",
    "ConnectionLost",
    "Entry",
    "Event",
    "GrantedSource",
    "JetStreamMessage",
    "KafkaMessage",
    "KafkaMessages",
    "Line",
    "PulledSource",
    "RemoteError",
    "Request",
    "Server",
    "Writer",
    "from_granted",
    "from_pulled",
    "from_server_sent_events",
    "from_websocket",
    "read_csv",
    "read_delta",
    "read_duckdb",
    "read_iceberg",
    "read_jetstream",
    "read_json_lines",
    "read_kafka",
    "read_parquet",
    "read_postgres",
    "read_postgres_changes",
    "read_redis_stream",
    "read_sqlite",
    "read_standard_input",
    "replay",
    "serve_server_sent_events",
    "serve_websocket",
    "tail_json_lines",
    "write_csv",
    "write_delta",
    "write_duckdb",
    "write_iceberg",
    "write_jetstream",
    "write_json_lines",
    "write_kafka",
    "write_parquet",
    "write_postgres",
    "write_redis_stream",
    "write_sqlite",
    "write_standard_output",
]

_load = loader(
    __name__,
    {
        "Change": "postgres.changes",
        "ConnectionLost": "shared.reconnecting",
        "Entry": "redis.source",
        "Event": "sse.events",
        "GrantedSource": "shared.granted_source",
        "JetStreamMessage": "nats.messages",
        "KafkaMessage": "kafka.messages",
        "KafkaMessages": "kafka.messages",
        "Line": "files.tail",
        "PulledSource": "shared.pulled_source",
        "RemoteError": "shared.connection_errors",
        "Request": "shared.admission",
        "Server": "shared.server",
        "Writer": "shared.writer",
        "from_granted": "shared.granted_source",
        "from_pulled": "shared.pulled_source",
        "from_server_sent_events": "sse.source",
        "from_websocket": "websocket.source",
        "read_csv": "files.csv_files",
        "read_duckdb": "duckdb.source",
        "read_jetstream": "nats.source",
        "read_delta": "delta.source",
        "read_iceberg": "iceberg.source",
        "read_json_lines": "files.json_lines",
        "read_kafka": "kafka.source",
        "read_parquet": "parquet.source",
        "read_postgres": "postgres.source",
        "read_postgres_changes": "postgres.changes",
        "read_redis_stream": "redis.source",
        "read_sqlite": "sqlite.source",
        "read_standard_input": "standard_streams",
        "replay": "replaying",
        "serve_server_sent_events": "sse.server",
        "serve_websocket": "websocket.server",
        "tail_json_lines": "files.tail",
        "write_csv": "files.csv_files",
        "write_duckdb": "duckdb.sink",
        "write_jetstream": "nats.sink",
        "write_delta": "delta.sink",
        "write_iceberg": "iceberg.sink",
        "write_json_lines": "files.json_lines",
        "write_kafka": "kafka.sink",
        "write_parquet": "parquet.sink",
        "write_postgres": "postgres.sink",
        "write_redis_stream": "redis.sink",
        "write_sqlite": "sqlite.sink",
        "write_standard_output": "standard_streams",
    },
)

_EXTRAS = {
    "confluent_kafka": "kafka",
    "duckdb": "duckdb",
    "nats": "nats",
    "deltalake": "delta",
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pyarrow": "parquet",
    "pyiceberg": "iceberg",
    "redis": "redis",
}


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> Any:
    """Load a part when it is used; a package that is missing is named, with what installs it."""
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        extra = _EXTRAS.get(missing, "connectors")
        raise ModuleNotFoundError(
            f"{name} needs {missing}, which is not installed: pip install 'penstock[{extra}]'",
            name=error.name,
        ) from None
