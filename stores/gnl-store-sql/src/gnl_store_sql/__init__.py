"""What the SQL stores share: tables, statements, reads, changes, schema versions."""

from gnl_store_sql.callers import run_on_sqlalchemy, sqlalchemy_connection
from gnl_store_sql.changes import Changes, Upkeep
from gnl_store_sql.event_changes import EventChanges, EventUpkeep
from gnl_store_sql.event_reads import EventReads
from gnl_store_sql.event_records import event_run_id
from gnl_store_sql.event_tables import BACK, HELD, QUARANTINED, RETRY
from gnl_store_sql.listing import Horizon, Listing
from gnl_store_sql.reads import Reads
from gnl_store_sql.records import job_record, org_name, org_text, run_id
from gnl_store_sql.schema import Schema
from gnl_store_sql.statements import Row, Rows, SqlDialect, Statement, Step, Steps, Values
from gnl_store_sql.tables import VERSION, Tables

__all__ = [
    "BACK",
    "HELD",
    "QUARANTINED",
    "RETRY",
    "VERSION",
    "Changes",
    "EventChanges",
    "EventReads",
    "EventUpkeep",
    "Horizon",
    "Listing",
    "Reads",
    "Row",
    "Rows",
    "Schema",
    "SqlDialect",
    "Statement",
    "Step",
    "Steps",
    "Tables",
    "Upkeep",
    "Values",
    "event_run_id",
    "job_record",
    "org_name",
    "org_text",
    "run_id",
    "run_on_sqlalchemy",
    "sqlalchemy_connection",
]
