#!/bin/sh
# Runs after installing and upgrading. dpkg passes "configure", rpm the number of installed versions.
set -e
case "$1" in configure | [0-9]*) ;; *) exit 0 ;; esac

# Members of the group `memscope` may query running watchers (`memscope status`). The service runs as the user `memscope`.
getent group memscope >/dev/null || groupadd --system memscope
getent passwd memscope >/dev/null ||
    useradd --system --gid memscope --no-create-home --home-dir /var/lib/memscope --shell /usr/sbin/nologin memscope

# Does not enable the service, because the administrator decides what to watch. A running service is restarted with the
# new version. If that fails, the package is installed nevertheless.
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart memscope.service || true
fi
