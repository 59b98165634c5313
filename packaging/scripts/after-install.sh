#!/bin/sh
# Runs after installing and upgrading: dpkg says "configure", rpm the number of versions installed then.
set -e
case "$1" in configure | [0-9]*) ;; *) exit 0 ;; esac

# Members of the group may ask running watchers (`memscope status`); the service runs as the user.
getent group memscope >/dev/null || groupadd --system memscope
getent passwd memscope >/dev/null ||
    useradd --system --gid memscope --no-create-home --home-dir /var/lib/memscope --shell /usr/sbin/nologin memscope

# Nothing is enabled: it is the administrator who says what to watch. A service that runs gets the new version;
# one that does not come up with it is no reason to leave the package half installed.
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    systemctl try-restart memscope.service || true
fi
