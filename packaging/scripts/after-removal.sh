#!/bin/sh
# Runs after removal. dpkg passes "remove", then "purge" if the user asked for it; rpm passes 0 remaining versions. The
# user and the group stay, because files may belong to them. "purge" removes the reports of the service.
set -e
case "$1" in remove | purge | 0) ;; *) exit 0 ;; esac
[ "$1" != purge ] || rm -rf /var/lib/memscope
[ ! -d /run/systemd/system ] || systemctl daemon-reload
