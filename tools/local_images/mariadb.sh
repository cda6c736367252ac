#!/bin/bash
# Entry point of the local MariaDB image: makes the database at the first start.
set -euo pipefail
DATA=/var/lib/mysql
SOCKET=/run/mysqld/mysqld.sock
: "${MYSQL_ROOT_PASSWORD:=test}" "${MYSQL_DATABASE:=test}" "${MYSQL_USER:=test}"
: "${MYSQL_PASSWORD:=test}"

server() { exec mariadbd --no-defaults --user=mysql --datadir=$DATA --socket=$SOCKET "$@"; }

install -d -o mysql -g mysql "$DATA" /run/mysqld
if [ ! -d "$DATA/mysql" ]; then
  mariadb-install-db --no-defaults --user=mysql --datadir=$DATA --skip-test-db >/dev/null
  # As with the official images, a server without a network takes the first statements, so that
  # "ready for connections" is logged twice, which testcontainers waits for.
  (server --skip-networking) &
  until mariadb-admin --no-defaults --socket=$SOCKET ping >/dev/null 2>&1; do sleep 0.05; done
  mariadb --no-defaults --socket=$SOCKET <<SQL
CREATE DATABASE IF NOT EXISTS \`$MYSQL_DATABASE\`;
CREATE USER IF NOT EXISTS '$MYSQL_USER'@'%' IDENTIFIED BY '$MYSQL_PASSWORD';
GRANT ALL ON *.* TO '$MYSQL_USER'@'%';
CREATE USER IF NOT EXISTS 'root'@'%' IDENTIFIED BY '$MYSQL_ROOT_PASSWORD';
GRANT ALL ON *.* TO 'root'@'%' WITH GRANT OPTION;
SQL
  mariadb-admin --no-defaults --socket=$SOCKET shutdown
  wait
fi
server --bind-address=0.0.0.0 --skip-name-resolve
