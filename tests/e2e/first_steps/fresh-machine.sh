#!/usr/bin/env bash
# Tests that the two commands of the README work on a minimal Debian 12. Makes one in a directory (debootstrap), clones a
# commit into it, and runs them there. Run by hand or as `./dev fresh`; needs root and takes 15 minutes or more.
#   fresh-machine.sh [COMMIT]        HEAD by default: what is not committed is not tested
# Variables: FRESH_DIR where to build (default /var/tmp), FRESH_KEEP=1 to keep the tree, FRESH_COMMANDS what to run there,
# one command a line (default: ./dev demo, ./dev test), MEMSCOPE_DEMO_SECONDS to shorten the demo.
set -euo pipefail

commands=${FRESH_COMMANDS:-$'./dev demo\n./dev test'}
checkout=$(cd "$(dirname "$0")/../../.." && pwd)

say() { printf '\n== fresh machine: %s\n' "$*"; }
die() { printf 'fresh-machine.sh: %s\n' "$*" >&2; exit 2; }

. "$checkout/tests/e2e/support/chroot.sh"

# A network may replace the certificates of servers by its own. Then npm needs the ones that this machine trusts.
certificates=/etc/ssl/fresh-machine.crt

inside() {
    env -i HOME=/root TERM="${TERM:-dumb}" LANG=C.UTF-8 PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=$certificates} \
        ${MEMSCOPE_DEMO_SECONDS:+MEMSCOPE_DEMO_SECONDS=$MEMSCOPE_DEMO_SECONDS} chroot "$root" sh -c 'cd /memscope && '"$1"
}

within_namespace() {
    mount_into "$root"
    local command began
    while IFS= read -r command <&3; do
        [ -n "$command" ] || continue
        say "$command"
        began=$SECONDS
        patiently inside "$command" </dev/null || { say "FAILED after $((SECONDS - began)) s: $command"; return 1; }
        [ "$command" != './dev demo' ] || grep -qF 'Trainer.validate (train.py:' "$root.log" || { say "FAILED: $command names no line"; return 1; }
        say "ok after $((SECONDS - began)) s: $command"
    done 3<<<"$commands"
}

clean_up() {
    trap '' INT TERM HUP
    end_processes "$root"
    [ "${FRESH_KEEP:-}" != 1 ] || { say "kept: $root"; return; }
    rm -f "$root.log"
    remove_tree "$root"
}

if [ "${1:-}" = --within-namespace ]; then
    root=$2
    within_namespace
    exit
fi

[ "$(id -u)" = 0 ] || die 'needs root: sudo tests/e2e/first_steps/fresh-machine.sh'
for tool in debootstrap git unshare chroot; do command -v "$tool" >/dev/null || die "needs $tool: apt-get install $tool"; done
commit=$(git -C "$checkout" rev-parse --verify --quiet "${1:-HEAD}^{commit}") || die "no commit '${1:-HEAD}'"
from=$(mirror)
[ -n "$from" ] || die "this machine's apt knows no mirror of $release"
through=$(proxy)

mkdir -p "${FRESH_DIR:-/var/tmp}"
root=$(mktemp -d "${FRESH_DIR:-/var/tmp}/memscope-fresh.XXXXXX")
chmod 755 "$root"  # it becomes /, and not all users in there are root
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

say "Debian $release from $from"
[ -z "$through" ] || export http_proxy=$through
patiently debootstrap --variant=minbase "$release" "$root" "$from"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
[ ! -e /etc/hosts ] || cp -L /etc/hosts "$root/etc/hosts"
[ -z "${NODE_EXTRA_CA_CERTS:-}" ] || install -D -m 644 "$NODE_EXTRA_CA_CERTS" "$root$certificates"
{
    echo 'Acquire::Retries "8";'
    [ -z "$through" ] || echo "Acquire::http::Proxy \"$through\";"
} >"$root/etc/apt/apt.conf.d/99fresh-machine"
git clone --quiet --no-hardlinks --no-checkout "$checkout" "$root/memscope"
git -C "$root/memscope" checkout --quiet --detach "$commit"
say "$(inside 'dpkg-query -W | wc -l') packages installed, $(git -C "$checkout" log -1 --format='%h %s' "$commit")"

unshare --mount --propagation private -- bash "$(realpath "$0")" --within-namespace "$root"
say 'all commands work'
