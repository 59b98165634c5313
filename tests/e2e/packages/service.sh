#!/usr/bin/env bash
# Tests memscope.service with all restrictions of systemd. Boots Debian 12 with the .deb of this machine's architecture in
# a virtual machine (qemu without KVM), starts the service there and checks it.
#   service.sh          needs root, qemu-system-arm or -x86, and the output of `./dev package`; takes 6 minutes or more
set -euo pipefail

checkout=$(cd "$(dirname "$0")/../../.." && pwd)
. "$checkout/tests/e2e/support/chroot.sh"
say() { printf '\n== service: %s\n' "$*"; }
die() { printf 'service.sh: %s\n' "$*" >&2; exit 2; }

most_seconds=1200
arch=$(dpkg --print-architecture)
case $arch in
    arm64)
        machine=(qemu-system-aarch64 -machine virt,gic-version=3 -cpu neoverse-n1 -accel tcg,thread=multi)
        console=ttyAMA0
        ;;
    amd64)
        machine=(qemu-system-x86_64 -machine q35 -cpu Nehalem -accel tcg)
        console=ttyS0
        ;;
esac

# Runs in the virtual machine after all other services. Prints one line for each check, and a last line: without it, the
# whole test has failed.
write_checks() {
    cat >"$root/root/checks" <<'CHECKS'
#!/bin/bash
exec >/dev/console 2>&1
failed=0
check() {
    local said
    if said=$(eval "$2" 2>&1); then echo "ok      $1"; else
        echo "FAILED  $1"
        sed 's/^/        /' <<<"$said"
        failed=$((failed + 1))
    fi
}
value() { systemctl show -P "$1" memscope; }
metrics() { curl -s --max-time 20 127.0.0.1:9750/metrics; }
status() { grep "^$1:" "/proc/$(value MainPID)/status"; }
as() { setpriv --reuid 65532 --regid "$1" --clear-groups memscope status --json; }

check 'without settings it does not start' '! systemctl start memscope || [ "$(value ActiveState)" = inactive ]'
systemd-run --quiet --unit=job --setenv=RANK=3 --uid=nobody sleep 10000
printf 'cgroup = ["system.slice/job.service"]\nwait = true\n' >/etc/memscope.toml
systemctl start memscope
for i in {1..120}; do metrics | grep -q target_up && break; sleep 1; done
check 'it runs, and was not started twice' '[ "$(value ActiveState) $(value NRestarts)" = "active 0" ]'
check 'in its own slice, with its own limit' '[ "$(value ControlGroup) $(value MemoryMax)" = "/memscope.slice/memscope.service 536870912" ]'
check 'not as root' '! status Uid | grep -qw 0'
check 'with four capabilities' 'status CapPrm | grep -q 000000c000080004 && status CapBnd | grep -q 000000c000080004'
check 'behind a filter of system calls' 'status Seccomp | grep -q 2'
check 'and protected against OOM kills' '[ "$(cat /proc/$(value MainPID)/oom_score_adj)" = -900 ]'
probes() { tail -n 1 | grep -o '"probes":{[^}]*}'; }
hooks_of_root() { memscope --cgroup system.slice/job.service --listen none --json --duration 1s | probes; }
hooks_of_service() { memscope status --json | probes; }
same_hooks() {  # [PATTERN REPLACEMENT]: the expected difference between the hooks of root and of the service
    local root service wanted
    root=$(hooks_of_root)
    service=$(hooks_of_service)
    wanted=${root/"${1:-}"/"${2:-}"}
    echo "root: $root; the service: $service"
    [ -n "$root" ] && [ "$service" = "$wanted" ] && { [ $# = 0 ] || [ "$wanted" != "$root" ]; }
}
# Debian's kernels start with kernel.perf_event_paranoid=3. With this value they require CAP_SYS_ADMIN for perf events, which
# the service does not have (docs/least-privilege.md).
check 'the kernel allows perf events only to root, and the doctor says so' \
    '[ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 3 ] && memscope doctor | grep "page faults.*counted by perf events for root only"'
check 'so the hook of page faults is missing, and no other hook that root has' \
    'same_hooks "\"growth_fault\":true" "\"growth_fault\":false"'
check 'it sees the job' 'metrics | grep "^memscope_target_up{target=\"system.slice/job.service\"} 1"'
check 'its rank' 'metrics | grep -q "^memscope_processes{.*rank=\"3\"} 1"'
check 'its /dev/shm' 'metrics | grep -q "^memscope_shm_size_bytes"'
check 'nothing is lost' '! metrics | grep "^memscope_events_dropped_total.* [1-9]"'
check 'the group may ask' 'as memscope | grep -q "\"rank\":3"'
check 'others may not' '! as nogroup'
echo kernel.perf_event_paranoid=2 >/etc/sysctl.d/60-memscope.conf
systemctl restart systemd-sysctl memscope
for i in {1..120}; do metrics | grep -q target_up && break; sleep 1; done
check 'the same hooks are attached as for root, with the setting of the documentation' same_hooks
kill -9 "$(value MainPID)"
for i in {1..120}; do [ "$(value NRestarts)" = 1 ] && metrics | grep -q target_up && break; sleep 1; done
check 'it comes back when it is killed' 'metrics | grep -q target_up'
systemctl stop memscope
check 'it ends well' '[ "$(value Result) $(value ExecMainStatus)" = "success 0" ]'
check 'and leaves no socket' '[ -z "$(ls /run/memscope)" ]'
printf 'no-such-key = 1\n' >/etc/memscope.toml
systemctl start memscope; sleep 10
check 'wrong settings are not tried again' '[ "$(value ActiveState) $(value ExecMainStatus) $(value NRestarts)" = "failed 2 0" ]'
systemctl reset-failed memscope
check 'the package goes' 'dpkg --purge memscope >/dev/null && [ ! -e /usr/bin/memscope ] && ! systemctl cat memscope'
echo "service checks failed: $failed"
systemctl poweroff --force --force
CHECKS
    chmod 755 "$root/root/checks"
    cat >"$root/etc/systemd/system/checks.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/root/checks
TimeoutStartSec=1000
[Install]
WantedBy=default.target
UNIT
}

make_system() {
    if [ -d "${PACKAGES_BASE:-}" ]; then cp -a "$PACKAGES_BASE" "$root"; else  # a tree made before, to save time
        patiently debootstrap --variant=minbase $release "$root" "$from" >/dev/null
    fi
    cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    [ ! -e /etc/hosts ] || cp -L /etc/hosts "$root/etc/hosts"
    printf 'Acquire::Retries "8";\n' >"$root/etc/apt/apt.conf.d/99service"
    [ -z "$through" ] || printf 'Acquire::http::Proxy "%s";\n' "$through" >>"$root/etc/apt/apt.conf.d/99service"
    cp "$checkout/build/packages/memscope_"*"_$arch.deb" "$root/root/"
    write_checks
    patiently unshare --mount --propagation private -- chroot "$root" sh -ec "
        mount -t proc proc /proc
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -q
        apt-get install -y -q --no-install-recommends systemd systemd-sysv curl /root/memscope_*.deb
        systemctl enable --quiet checks.service
        cd /root
        apt-get download -q \$(apt-cache depends linux-image-cloud-$arch | sed -n 's/ *Depends: //p' | head -n 1)
    " >/dev/null
    dpkg-deb --fsys-tarfile "$root"/root/linux-image*.deb | tar -x -O --wildcards './boot/vmlinuz-*' >"$work/kernel"
    rm -rf "$root"/root/*.deb "$root"/var/cache/apt/* "$root"/var/lib/apt/lists "$root"/usr/share/{doc,locale,man}
    (cd "$root" && find . -xdev | cpio -o -H newc --quiet) >"$work/system"
}

[ "$(id -u)" = 0 ] || die 'needs root: sudo tests/e2e/packages/service.sh'
for tool in debootstrap unshare cpio "${machine[0]}"; do command -v "$tool" >/dev/null || die "needs $tool: apt-get install debootstrap cpio qemu-system"; done
from=$(mirror)
[ -n "$from" ] || die "this machine's apt knows no mirror of $release"
through=$(proxy)
[ -z "$through" ] || export http_proxy=$through

work=$(mktemp -d /var/tmp/memscope-service.XXXXXX)
root=$work/root
clean_up() {
    trap '' INT TERM HUP
    end_processes "$root"
    remove_tree "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

say "Debian $release with systemd, from $from"
make_system
say 'boots'
timeout "$most_seconds" "${machine[@]}" -smp 2 -m 2048 -nographic -nodefaults -serial stdio -no-reboot -net none \
    -kernel "$work/kernel" -initrd "$work/system" \
    -append "console=$console panic=-1 rdinit=/sbin/init loglevel=4 systemd.show_status=0" </dev/null >"$work/console" 2>&1 || true
tr -d '\r' <"$work/console" | grep -E '^(ok|FAILED|       ) ' || tail -n 20 "$work/console"
tr -d '\r' <"$work/console" | grep -qx 'service checks failed: 0' || { say 'FAILED'; exit 1; }
say 'all is well'
