#!/bin/bash
# Makes images of database servers from the distribution's own packages, without a registry.
#
#   eval "$(sudo tools/local_images.sh postgres mariadb)"
#
# makes gnl-local/postgres:VERSION and gnl-local/mariadb:VERSION on the Docker engine that
# `docker` talks to, and prints the settings by which the conformance kit takes them. They obey
# the variables of the official images that testcontainers sets, and no others. Needs Debian or
# Ubuntu, root, docker and debootstrap, and about a minute for each image.
set -euo pipefail
shopt -s inherit_errexit

HERE=$(cd "$(dirname "$0")" && pwd)
SUITE=${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
PARTS=$(. /etc/os-release && [ "$ID" = ubuntu ] && echo main,universe || echo main)

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "local_images.sh: $*"
  exit 1
}

# make NAME PACKAGE PROGRAM PORT: one image, tagged with the version that PROGRAM tells.
make() {
  local name=$1 package=$2 program=$3 port=$4 root=$WORK/$1 version image
  say "$name: collecting packages of $SUITE"
  debootstrap --variant=minbase --components="$PARTS" --include="$package" "$SUITE" "$root" >&2
  # The package's own database is not wanted, and no download either.
  rm -rf "$root"/var/lib/postgresql/* "$root"/var/lib/mysql/* "$root"/var/cache/apt/archives/*.deb
  ln -sf "$(chroot "$root" sh -c "ls -d /usr/lib/postgresql/*/bin /usr/sbin 2>/dev/null" | head -1)" \
    "$root/usr/local/server"
  install -m 755 "$HERE/local_images/$name.sh" "$root/usr/local/bin/entry.sh"
  version=$(chroot "$root" "/usr/local/server/$program" --version | grep -oE '[0-9]+(\.[0-9]+)+' | head -1)
  image=gnl-local/$name:$version
  tar -C "$root" --one-file-system -c . | docker import -c "EXPOSE $port" \
    -c 'ENV PATH=/usr/local/server:/usr/sbin:/usr/bin:/sbin:/bin' \
    -c 'ENTRYPOINT ["/usr/local/bin/entry.sh"]' - "$image" >&2
  printf 'export GNL_TEST_%s_IMAGE=%s\n' "${name^^}" "$image"
}

[ $# -gt 0 ] || set -- postgres mariadb
[ "$(id -u)" = 0 ] || fail "run it as root: debootstrap needs that"
for need in docker debootstrap; do
  command -v "$need" >/dev/null || fail "$need is missing: install it"
done
docker version >/dev/null 2>&1 || fail "no Docker engine answers: start one, or set DOCKER_HOST"

WORK=$(mktemp -d)
trap 'rm -rf --one-file-system "$WORK"' EXIT
for name in "$@"; do
  case $name in
  postgres) make postgres postgresql postgres 5432 ;;
  mariadb) make mariadb mariadb-server mariadbd 3306 ;;
  *) fail "no image called '$name': there are postgres and mariadb" ;;
  esac
done
