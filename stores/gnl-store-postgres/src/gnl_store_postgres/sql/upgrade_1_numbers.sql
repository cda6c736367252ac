-- Go on behind the turns and tokens of version 1, which came from the clock.
select setval('{schema}.gnl_stamps', greatest(
    (select coalesce(max(turn), 0) from {schema}.gnl_lanes),
    (select coalesce(max(token), 0) from {schema}.gnl_held), 0) + 1);
