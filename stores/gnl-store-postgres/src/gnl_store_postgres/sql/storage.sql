-- What PostgreSQL adds to the shared tables.

-- Numbers of grants and of turns. One sequence: a lane's new turn is its last grant's token.
create sequence {schema}.gnl_stamps;

-- One row: no lease ends before `reclaim_at`, so that most claims need not look for one.
create table {schema}.gnl_clock (
    reclaim_at bigint not null
) with (fillfactor = 10);
insert into {schema}.gnl_clock (reclaim_at) values (0);

-- A claim scans a pair's ready jobs from `head` on. `soon_head` is the highest number granted
-- by `soon_at`, and becomes `head` once it is old enough that no short transaction can still
-- commit a lower one. At `swept_at` the pair was last scanned from the very beginning, which
-- took `sweep_cost` microseconds.
alter table {schema}.gnl_lanes
    add column soon_head bigint not null default 0,
    add column soon_at bigint not null default 0,
    add column swept_at bigint not null default 0,
    add column sweep_cost bigint not null default 0;

-- Tables whose rows come and go: vacuumed by what died, however large they are just now, and
-- with room on each page for the next version of a row.
alter table {schema}.gnl_ready set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
alter table {schema}.gnl_delayed set (
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
alter table {schema}.gnl_held set (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
alter table {schema}.gnl_lanes set (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
