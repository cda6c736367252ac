#!/bin/bash
# Entry point of the local PostgreSQL image: makes the database at the first start. Arguments are
# those of the official image: "postgres" and options of the server.
set -euo pipefail
export PGDATA=${PGDATA:-/var/lib/postgresql/data}
: "${POSTGRES_USER:=postgres}" "${POSTGRES_PASSWORD:=postgres}" "${POSTGRES_DB:=$POSTGRES_USER}"

run() { setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"; }

install -d -o postgres -g postgres -m 700 "$PGDATA"
install -d -o postgres -g postgres -m 2775 /var/run/postgresql
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  printf '%s\n' "$POSTGRES_PASSWORD" >/run/password
  chown postgres /run/password
  run initdb -D "$PGDATA" -U "$POSTGRES_USER" --pwfile=/run/password -A scram-sha-256 \
    -E UTF8 --locale=C.UTF-8
  rm /run/password
  sed -i 's/^local .*/local all all trust/' "$PGDATA/pg_hba.conf"
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  if [ "$POSTGRES_DB" != postgres ]; then
    run postgres --single -D "$PGDATA" postgres <<<"CREATE DATABASE \"$POSTGRES_DB\""
  fi
fi
exec setpriv --reuid=postgres --regid=postgres --clear-groups -- \
  postgres -D "$PGDATA" -c listen_addresses='*' -k /var/run/postgresql "${@:2}"
