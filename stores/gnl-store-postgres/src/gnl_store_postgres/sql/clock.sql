-- The store's clock, and what lanes are locked by.

-- Microseconds since the epoch. Every decision about time asks this function, so that no
-- client's clock ever counts, and a transaction that began long ago does not stop the clock.
create or replace function {schema}.gnl_now() returns bigint
language sql volatile as
$$ select (extract(epoch from clock_timestamp()) * 1000000)::bigint $$;

-- One of 256 locks stands for a pair of lane and type. Whoever makes a job of the pair ready
-- holds it shared until the end of the transaction; whoever deletes the pair's row in gnl_lanes
-- holds it exclusively. So the row never vanishes under a job that is not committed yet.
create or replace function {schema}.gnl_bucket(p_org text, p_type text) returns integer
language sql immutable as
$$ select (hashtextextended(p_org, hashtextextended(p_type, 0)) & 255)::integer $$;
