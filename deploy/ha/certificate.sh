#!/bin/sh
# sh certificate.sh FOLDER NAME...: a certificate authority for the databases in FOLDER, unless there is one, and for each machine
# NAME.crt and NAME.key of it. Keep FOLDER away from the machines: they get authority.crt and their own two files.
set -eu
umask 077
cd "$1"
shift
new() { name=$1; shift; openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$name" -keyout "$name.key" "$@" 2>/dev/null; }
[ -e authority.crt ] || new authority -x509 -days 3650 -out authority.crt
for machine in "$@"; do
    new "$machine" -out "$machine.csr"
    openssl x509 -req -in "$machine.csr" -CA authority.crt -CAkey authority.key -CAcreateserial -days 825 -out "$machine.crt" 2>/dev/null
    rm "$machine.csr"
done
