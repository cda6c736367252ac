-- From version 1, which kept no transaction numbers, scanned every lane from its beginning, and
-- numbered failures across all jobs.
alter table {schema}.gnl_jobs add column xact xid8 not null default '0';
alter table {schema}.gnl_jobs alter column xact set default pg_current_xact_id();
alter table {schema}.gnl_lanes add column head bigint not null default 0;

alter table {schema}.gnl_failures rename to gnl_failures_1;
alter table {schema}.gnl_failures_1 rename constraint gnl_failures_pkey to gnl_failures_1_pkey;
create table {schema}.gnl_failures (
    seq bigint not null,
    n bigint not null,
    attempt bigint not null,
    error text collate "C" not null,
    failed_at bigint not null,
    primary key (seq, n)
);
insert into {schema}.gnl_failures (seq, n, attempt, error, failed_at)
select seq, row_number() over (partition by seq order by id), attempt, error, failed_at
from {schema}.gnl_failures_1;
drop table {schema}.gnl_failures_1;
