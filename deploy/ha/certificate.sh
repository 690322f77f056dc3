#!/bin/sh
# sh certificate.sh FOLDER NAME=ADDRESS...: a certificate authority for the machines in FOLDER, unless there is one, and for each machine
# NAME.crt and NAME.key of it. Keep FOLDER away from the machines: they get authority.crt and their own two files.
set -eu
umask 077
cd "$1"
shift
new() { name=$1; shift; openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" -keyout "$name.key" "$@" 2>/dev/null; }
# Python 3.13, and so Patroni, wants to read what a key is for, and whose a certificate is.
[ -e authority.crt ] || new authority -x509 -days 3650 -addext keyUsage=critical,keyCertSign,cRLSign -out authority.crt
for machine in "$@"; do
    name=${machine%%=*}
    new "$name" -out "$name.csr"
    # etcd asks whether a machine is at an address of its certificate; 127.0.0.1 is for its own commands.
    printf '%s\n' "subjectAltName = DNS:$name, IP:${machine#*=}, IP:127.0.0.1" 'authorityKeyIdentifier = keyid' \
        'subjectKeyIdentifier = hash' > "$name.extensions"
    openssl x509 -req -in "$name.csr" -CA authority.crt -CAkey authority.key -CAcreateserial -days 825 -extfile "$name.extensions" \
        -out "$name.crt" 2>/dev/null
    rm "$name.csr" "$name.extensions"
done
