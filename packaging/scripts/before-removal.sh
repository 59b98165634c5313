#!/bin/sh
# Runs before removal and before an upgrade; does nothing at an upgrade. At a removal dpkg passes "remove", rpm 0 remaining
# versions.
set -e
case "$1" in remove | 0) ;; *) exit 0 ;; esac
[ ! -d /run/systemd/system ] || systemctl disable --now memscope.service
