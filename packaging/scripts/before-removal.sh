#!/bin/sh
# Runs before removal, and before an upgrade, when it does nothing: dpkg says "remove", rpm that 0 versions stay.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ ! -d /run/systemd/system ] || systemctl disable --now memscope.service
