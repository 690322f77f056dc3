#!/bin/sh
# sh etcd-leader.sh: on the third machine, makes its etcd the leader. Where etcd's leader is lost together with the primary, its
# successor begins the time of Patroni's leader anew, and creates stand still for some seconds longer.
set -eu
export ETCDCTL_API=3
status=$(etcdctl --endpoints=https://127.0.0.1:2379 endpoint status --write-out=fields)
field() { printf '%s\n' "$status" | sed -n "s/^\"$1\" : //p"; }
own=$(field MemberID)
[ "$(field Leader)" = "$own" ] || etcdctl --endpoints="$ETCD_HOSTS" move-leader "$(printf %x "$own")"
