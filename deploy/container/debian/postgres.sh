#!/bin/bash
# As the entry point of the usual image of PostgreSQL: makes the database at the first start, runs the scripts in
# /docker-entrypoint-initdb.d once, then serves. Starts as root for the volumes' owners, and goes on as postgres.
set -euo pipefail
if [ "$(id -u)" = 0 ]; then
    install -d -o postgres -g postgres -m 0755 "$(dirname "$PGDATA")" /backup/wal
    install -d -o postgres -g postgres -m 3775 /var/run/postgresql
    exec setpriv --reuid postgres --regid postgres --init-groups "$BASH" "$0" "$@"
fi
if [ ! -e "$PGDATA/PG_VERSION" ]; then
    draft="$(dirname "$PGDATA")/draft"
    rm -rf "$draft"
    # shellcheck disable=SC2086  # several options
    initdb --pgdata "$draft" --username "$POSTGRES_USER" --pwfile "$POSTGRES_PASSWORD_FILE" --auth-host scram-sha-256 \
        ${POSTGRES_INITDB_ARGS:-}
    sockets=$(mktemp -d)
    export PGHOST=$sockets PGPASSWORD
    PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    pg_ctl --pgdata "$draft" --wait start --options "-c listen_addresses= -c unix_socket_directories=$sockets"
    createdb --username "$POSTGRES_USER" "$POSTGRES_DB"
    for script in /docker-entrypoint-initdb.d/*.sh; do bash "$script"; done
    pg_ctl --pgdata "$draft" --wait stop
    unset PGHOST PGPASSWORD
    # Only a complete one is ever served.
    mv "$draft" "$PGDATA"
fi
exec "$@"
