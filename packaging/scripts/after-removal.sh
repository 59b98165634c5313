#!/bin/sh
# Runs after removal: dpkg says "remove", then "purge" if asked; rpm that 0 versions stay. The user and group stay, as
# files may be theirs; what the service stored goes with "purge".
set -e
case "$1" in remove | purge | 0) ;; *) exit 0 ;; esac
[ "$1" != purge ] || rm -rf /var/lib/memscope
[ ! -d /run/systemd/system ] || systemctl daemon-reload
