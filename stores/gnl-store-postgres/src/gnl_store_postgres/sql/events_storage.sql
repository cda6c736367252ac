-- What PostgreSQL adds to the tables of events.

-- Fencing tokens of deliveries.
create sequence {schema}.gnl_event_tokens;

-- Events that have no position yet: written with the event, in the emitter's transaction.
create table {schema}.gnl_arrivals (
    topic text collate "C" not null,
    seq bigint not null,
    org text collate "C" not null,
    primary key (topic, seq)
);

-- Events of a key (for one consumer) that were acked or quarantined. A delivery looks who is the
-- first of their lines now, so that those who settle never wait for one that hands out.
create table {schema}.gnl_left_lines (
    consumer bigint not null,
    n bigint generated always as identity,
    org text collate "C" not null,
    key text collate "C" not null,
    primary key (consumer, n)
);

-- Rows that come and go: see storage.sql.
alter table {schema}.gnl_arrivals set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
alter table {schema}.gnl_left_lines set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
alter table {schema}.gnl_deliveries set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
alter table {schema}.gnl_topics set (fillfactor = 10);
alter table {schema}.gnl_consumers set (fillfactor = 10);
