#!/bin/sh
# Once, as root, beside the tidegate.env that `tidegate init` has written: the databases' addresses as sockets, the owner's
# in migrate.env, and the files under secrets/, each readable by the user of its container only.
set -eu
cd "$(dirname "$0")"
umask 077
[ ! -e migrate.env ] || { echo "migrate.env exists: its password may be in use, nothing was changed" >&2; exit 1; }
service=$(sed -n 's|^DATABASE_URL=postgresql://tidegate_service:\([^@]*\)@.*|\1|p' tidegate.env)
[ -n "$service" ] || { echo "tidegate.env has no DATABASE_URL of tidegate_service" >&2; exit 1; }
random() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
owner=$(random)
sockets=%2Fvar%2Frun%2Fpostgresql

sed -i '/^DATABASE_URL=/d; /^DATABASE_DIRECT_URL=/d; /^TIDEGATE_POOLER=/d' tidegate.env
cat >> tidegate.env <<END

# By prepare.sh: through PgBouncer, and past it.
DATABASE_URL=postgresql://tidegate_service:$service@$sockets:6432/tidegate
DATABASE_DIRECT_URL=postgresql://tidegate_service:$service@$sockets:5432/tidegate
TIDEGATE_POOLER=transaction
END
cat > migrate.env <<END
DATABASE_URL=postgresql://tidegate_owner:$owner@$sockets:5432/tidegate
DATABASE_DIRECT_URL=postgresql://tidegate_owner:$owner@$sockets:5432/tidegate
END

mkdir -p secrets
chmod 0711 secrets
put() { printf '%s' "$3" > "secrets/$2"; chown "$1" "secrets/$2"; chmod 0400 "secrets/$2"; }
put 999 owner_password "$owner"
put 999 service_password "$service"
put 10002 pgbouncer_users "\"tidegate_service\" \"$service\"
"
put 472 grafana_password "$(random)"
echo "tidegate.env, migrate.env and secrets/ are ready; copy them to a safe place away from this machine"
