#!/bin/bash
# make containers: as root, with podman, podman-compose and debootstrap. Builds every image on a base made here, as where no
# registry can be reached, starts the services of the compose file, and pays attention to what an operator would: the page
# behind the proxy, a payment, the doctor, what Prometheus scrapes. Removes the services afterwards; ports 80 and 443 must be free.
set -euo pipefail
# Older ones know neither the project's name nor `network_mode: none`.
version=$(podman-compose --version 2>/dev/null | sed -n 's/^podman-compose.* version:* *//p')
[ "$(printf '%s\n' 1.1 "$version" | sort -V | head -1)" = 1.1 ] || { echo "needs podman-compose 1.1 or later: pip install podman-compose" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
# The machine's own certificate authorities, for pip.
trusted=(-v /etc/ssl/certs/ca-certificates.crt:/etc/ssl/certs/ca-certificates.crt:ro)
build() { podman build --quiet --network host --format docker "$@" "$root" >/dev/null; }
say() { echo "$SECONDS s: $*"; }

say "base of debootstrap"
debootstrap --variant=minbase trixie "$work/base" >"$work/debootstrap.log"
tar -C "$work/base" -c . | podman import --quiet -c 'ENV PATH=/usr/sbin:/usr/bin:/sbin:/bin' - localhost/debian:trixie >/dev/null
rm -rf "$work/base"
printf '%s\n' 'FROM localhost/debian:trixie' 'RUN apt-get update && apt-get install --yes --no-install-recommends python3 python3-venv ca-certificates' >"$work/Python"
build -f "$work/Python" -t localhost/python:trixie

say "images"
build "${trusted[@]}" --build-arg BASE=localhost/python:trixie -f "$root/deploy/container/Containerfile" -t localhost/tidegate:latest
build --build-arg BASE=localhost/debian:trixie -f "$root/deploy/container/pgbouncer/Containerfile" -t localhost/tidegate-pgbouncer:latest
for image in postgres proxy prometheus; do
    build --build-arg BASE=localhost/debian:trixie --target $image -f "$root/deploy/container/debian/Containerfile" -t localhost/tidegate-$image:latest
done
podman run --rm --read-only --cap-drop all --network none --tmpfs /tmp:size=16m localhost/tidegate:latest --version

say "services"
cp -r "$root/deploy" "$work/deploy"
cd "$work/deploy/container"
podman run --rm --user 0 -v "$PWD":/out localhost/tidegate:latest init /out/tidegate.env --base-url https://localhost --rail paystack
sed -i 's/^TIDEGATE_PAYSTACK_SECRET_KEY=.*/TIDEGATE_PAYSTACK_SECRET_KEY=sk_live_0123456789abcdef0123456789abcdef01234567/
        s/^TIDEGATE_SECURITY_CONTACT=.*/TIDEGATE_SECURITY_CONTACT=security@example.com/' tidegate.env
sh prepare.sh
# In any order: each waits for what it needs. (podman 4.3 cannot start what depends on others in two steps.)
sed -i '/^    depends_on:$/,/^$/ { /depends_on:$/d; /^      /d }' compose.yaml
compose() { SITE=localhost podman-compose -f compose.yaml -f compose.debian.yaml "$@"; }
trap 'compose down --volumes >/dev/null 2>&1; rm -rf "$work"' EXIT
compose up -d --no-build db pgbouncer migrate api worker proxy prometheus >"$work/up.log" 2>&1
for _ in $(seq 120); do
    curl --fail --silent --insecure https://localhost/readyz >/dev/null && break
    sleep 1
done
curl --fail --silent --insecure https://localhost/readyz && echo
say "ready behind the proxy"

# By hand: podman leaves them to timers of systemd, which may not run here.
for service in db api worker; do
    podman healthcheck run tidegate_${service}_1
done
say "the health checks of database, API and worker pass"

merchant=$(podman exec tidegate_api_1 tidegate merchant create Shop --email shop@example.com --json)
key() { printf '%s' "$merchant" | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"; }
curl --fail --silent --insecure https://localhost/checkout/payments -H "api-key: $(key secretKey)" -H "x-pub-key: $(key publicKey)" \
    -H 'content-type: application/json' \
    -d '{"amount": 2500, "currency": "NGN", "reference": "ORDER-1", "customer": {"name": "Ada Obi", "email": "ada@example.com"}}'
echo
# What is missing on such a machine fails: a standby, an archive, a way to the rail. What must be well is named here.
podman exec tidegate_api_1 tidegate doctor --deep --json >"$work/doctor.json" || true
podman exec -i tidegate_api_1 python - <"$root/tests/deploy/scraped.py"
python3 - "$work/doctor.json" <<'PYTHON'
import json, sys
found = {}
for one in json.load(open(sys.argv[1])):
    found[one["subject"]] = one["ok"] and found.get(one["subject"], True)
well = {"role", "migrations", "login", "clock", "connections", "fsync", "data_checksums", "webhook secrets", "keys", "disk"}
assert all(found[name] for name in well), found
print("the doctor finds", sum(found.values()), "of", len(found), "well; not:", ", ".join(name for name in found if not found[name]))
PYTHON
say "done"
