#!/usr/bin/env bash
# Tests that the packages install, run and can be removed, in systems of their own (debootstrap) with this machine's kernel.
#   packages.sh [native]     needs root and the output of `./dev package` for both architectures; takes 5 minutes
# With `native` there are only packages of this machine's architecture (`./dev package ARCH`).
# For this machine's architecture: installs the .deb and the .rpm, starts the watcher as the service would, queries it, runs a
# demo, shows its recording as a page, and removes it; runs the tarball on a system without its libraries, without terminal
# descriptions and without Python. For the other architecture: checks that the contents are the same, and that the program runs under qemu.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/../../.." && pwd)
packages=$checkout/build/packages
most=$((15 << 20))  # bytes of a tarball
. "$checkout/tests/e2e/support/chroot.sh"

say() { printf '\n== packages: %s\n' "$*"; }
die() { printf 'packages.sh: %s\n' "$*" >&2; exit 2; }
failed=0
check() {  # NAME COMMAND...
    local name=$1 log=$work/check.log
    shift
    if "$@" >"$log" 2>&1; then echo "ok      $name"; else
        failed=$((failed + 1))
        echo "FAILED  $name"
        sed 's/^/        /' "$log" | tail -n 20
    fi
}
not() { ! "$@"; }
# Reads all input: `grep -q` exits at the first match, the writer then dies of SIGPIPE, and `pipefail` makes that a failure.
has() { [ "$(grep -c "$@")" != 0 ]; }

become_inside() { exec env -i HOME=/root TERM=xterm PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"; }
inside() { (become_inside "$@"); }
as_user() { inside setpriv --reuid "$1" --regid "$2" --clear-groups "${@:3}"; }

# A cgroup of our own with one process in it, as a target.
start_job() {
    local hierarchy=/sys/fs/cgroup
    [ ! -d $hierarchy/memory ] || hierarchy=$hierarchy/memory
    job=$hierarchy/$target
    mkdir "$job"
    RANK=3 setpriv --reuid 65533 --regid 65533 --clear-groups sleep 600 &
    sleeper=$!
    echo $sleeper >"$job/cgroup.procs"
}
end_job() {
    kill "$sleeper" 2>/dev/null || true
    wait "$sleeper" 2>/dev/null || true
    rmdir "$job"
}

# The files of three packages, without directories and prefix, because the formats list directories differently.
files_of() {
    case $1 in
        *.deb) dpkg-deb --fsys-tarfile "$1" | tar -t | sed 's#^\./usr/##' ;;
        *.rpm) rpm -qlp "$1" 2>/dev/null | sed 's#^/usr/##' ;;
        *) tar -tzf "$1" | sed 's#^[^/]*/##' ;;
    esac | grep -vE '/$|^$' | sort
}
same_files() {
    local tarball deb rpm
    tarball=$(files_of "$1")
    deb=$(files_of "$2")
    rpm=$(files_of "$3" | grep -vxFf <(tar -tzf "$1" | sed -n 's#^[^/]*/\(.*\)/$#\1#p'))  # rpm owns directories, too
    diff <(echo "$tarball") <(echo "$deb") && diff <(echo "$tarball") <(echo "$rpm")
}
must_have() {
    local file
    for file in bin/memscope lib/memscope/libstdc++.so.6 lib/systemd/system/memscope.service share/man/man1/memscope.1.gz \
        share/bash-completion/completions/memscope share/zsh/site-functions/_memscope \
        share/fish/vendor_completions.d/memscope.fish share/doc/memscope/examples/memscope.toml \
        share/doc/memscope/copyright share/doc/memscope/licences/libmicrohttpd-dev \
        share/doc/memscope/licences/libsqlite3-dev share/doc/memscope/licences/libzstd-dev share/doc/memscope/licences/web-page share/memscope/terminfo/x/xterm-256color; do
        files_of "$1" | has -xF "$file" || { echo "no $file"; return 1; }
    done
    # Dashboards, rules and examples, all of them; their tests stay here.
    diff <(cd "$checkout/dashboards" && find grafana prometheus -type f -not -path '*/tests/*' | sort) \
        <(files_of "$1" | sed -n 's#^share/memscope/dashboards/##p' | sort) || return 1
    ! files_of "$1" | grep -E '/(libc|libm|ld-linux[^/]*)\.so'  # glibc is the system's
}
small() { [ "$(stat -c %s "$1")" -lt $most ]; }

check_contents() {  # of one architecture
    local tarball=$packages/memscope-$version-linux-$1.tar.gz
    local deb=$packages/memscope_${version}_$1.deb rpm=$packages/memscope-$version-1.$2.rpm
    check "$1: contents" must_have "$tarball"
    check "$1: .deb and .rpm have the same files" same_files "$tarball" "$deb" "$rpm"
    check "$1: below 15 MB" small "$tarball"
    check "$1: ships the libraries of bundled.txt and no others" only_known_libraries "$tarball"
    check "$1: the .deb wants the C library, passwd and nothing else" test "$(dpkg-deb -f "$deb" Depends)" = 'libc6 (>= 2.36), passwd'
    check "$1: the .deb is for $1" test "$(dpkg-deb -f "$deb" Architecture)" = "$1"
    check "$1: the .rpm is for $2" test "$(rpm -qp --qf '%{ARCH}' "$rpm" 2>/dev/null)" = "$2"
}

only_known_libraries() {  # as many files as bundled.txt lists, so that a new library does not come along unnoticed
    diff <(sed -n 's/^\(lib.*\.so[^ ]*\) .*/\1/p' "$checkout/packaging/bundled.txt" | sort) \
        <(files_of "$1" | sed -n 's#^lib/memscope/##p' | sort)
}
has_right_sum() { (cd "$packages" && sha256sum --check --strict SHA256SUMS && [ "$(wc -l <SHA256SUMS)" = "$1" ]); }

says_version() { [ "$("$@" --version)" = "memscope $version" ]; }
helps() { "$@" --help | has '^Usage:'; }

check_foreign() {  # the program of each package, under qemu, with Debian's own C library of that architecture
    local run=(env -i "qemu-$2-static" -L "/usr/$2-linux-gnu") kind
    mkdir -p "$work"/foreign/{deb,rpm,tarball}
    dpkg-deb -x "$packages/memscope_${version}_$1.deb" "$work/foreign/deb"
    (cd "$work/foreign/rpm" && rpm2cpio "$packages/memscope-$version-1.$2.rpm" | cpio -idm --quiet)
    tar -xzf "$packages/memscope-$version-linux-$1.tar.gz" -C "$work/foreign/tarball" --strip-components 1
    for kind in deb/usr rpm/usr tarball; do
        check "$1 under qemu: $kind --version" says_version "${run[@]}" "$work/foreign/$kind/bin/memscope"
        check "$1 under qemu: $kind --help" helps "${run[@]}" "$work/foreign/$kind/bin/memscope"
    done
}

# The service as systemd would start it: with the user, capabilities and directory of the unit. service.sh tests what
# systemd itself adds, because it needs a machine with systemd as its first process.
unit_value() { sed -n "s/^$1=//p" "$root/usr/lib/systemd/system/memscope.service"; }
start_service() {
    local capabilities user directory
    capabilities=$(unit_value AmbientCapabilities | sed 's/CAP_/+/g; s/ /,/g' | tr '[:upper:]' '[:lower:]')
    user=$(unit_value User)
    directory=/run/$(unit_value RuntimeDirectory)
    inside mkdir -p "$(dirname "$directory")"
    inside install -d -o "$user" -g "$(unit_value Group)" -m "$(unit_value RuntimeDirectoryMode)" "$directory"
    become_inside env RUNTIME_DIRECTORY="$directory" setpriv --reuid "$user" --regid "$(unit_value Group)" --init-groups --no-new-privs \
        --bounding-set "-all,$capabilities" --inh-caps "-all,$capabilities" --ambient-caps "-all,$capabilities" \
        $(unit_value ExecStart) >"$work/service.log" 2>&1 &
    service=$!
    local i
    for ((i = 0; i < 100; ++i)); do
        [ -z "$(ls "$root$directory")" ] || return 0
        kill -0 $service 2>/dev/null || break
        sleep 0.1
    done
    cat "$work/service.log"
    return 1
}
settings() {  # the example, with what is here to be watched
    sed -e "s/^cgroup = .*/cgroup = [\"$target\"]/" -e "s/^# listen = .*/listen = \"127.0.0.1:$port\"/" \
        "$root/usr/share/doc/memscope/examples/memscope.toml" >"$root/etc/memscope.toml"
    grep -q "^listen = .*:$port" "$root/etc/memscope.toml" && grep -q "^cgroup = .*$target" "$root/etc/memscope.toml"
}
get() { inside bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; printf 'GET /$1 HTTP/1.0\r\n\r\n' >&3; cat <&3"; }
sees_job() { as_user 65532 "$1" memscope status --json | has '"comm":"sleep".*"rank":3'; }
metrics_have_job() { get metrics | has "^memscope_target_up{target=\"$target\"} 1"; }
ends_well() { kill -TERM $service && wait $service; }

socket_is_the_groups() {  # of a watcher that root starts
    local socket i
    become_inside memscope --cgroup "$target" --listen none --quiet --duration 20s &
    local watcher=$!
    for ((i = 0; i < 100; ++i)); do
        socket=$root/run/memscope/$watcher.sock
        [ ! -S "$socket" ] || [ "$(stat -c %a "$socket")" != 660 ] || break
        sleep 0.1
    done
    local owner
    owner=$(stat -c '%u %g %a' "$socket")
    kill -TERM $watcher
    wait $watcher && [ "$owner" = "0 $(inside getent group memscope | cut -d: -f3) 660" ] && [ ! -e "$socket" ]
}

check_service() {  # after the installation of any kind of package
    check "$1: the group exists" inside getent group memscope
    check "$1: version" says_version inside memscope
    check "$1: the doctor finds nothing missing" inside memscope doctor
    check "$1: the example of the settings can be adapted" settings
    check "$1: starts as the unit says" start_service
    check "$1: a member of the group sees the job, and its rank" sees_job memscope
    check "$1: others may not" not sees_job nogroup
    check "$1: metrics" metrics_have_job
    check "$1: ends with 0" ends_well
    check "$1: what root starts the group may ask" socket_is_the_groups
    rm -f "$root/etc/memscope.toml"
}
# What a new user tries: a demo, its recording as text and as a page. PROGRAM, then what the answer of the demo must have.
demo_answers() {
    inside "$1" demo leak --scenario-seconds 10 >"$work/demo.log" 2>&1 || { tail -n 20 "$work/demo.log"; return 1; }
    local wanted
    for wanted in 'The verdict of memscope is leaking' "${@:2}"; do
        has -F "$wanted" <"$work/demo.log" || { echo "no '$wanted' in:"; tail -n 40 "$work/demo.log"; return 1; }
    done
}
newest_recording() { (cd "$root" && ls -t var/lib/memscope/recordings/*.memscope | head -n 1); }
reports_a_page() {
    local recording
    recording=/$(newest_recording)
    inside "$1" report "$recording" | has leak && inside "$1" report "$recording" --html /tmp/run.html || return 1
    [ "$(stat -c %s "$root/tmp/run.html")" -gt 50000 ] && has -F '<script' <"$root/tmp/run.html"
}
serves_a_page() {
    local link i page=0
    rm -f "$work/web.log"
    become_inside "$1" web "/$(newest_recording)" --no-browser >"$work/web.log" 2>&1 &
    local server=$!
    for ((i = 0; i < 100; ++i)); do
        link=$(grep -os 'http://127.0.0.1:[^ ]*' "$work/web.log" | head -n 1) && break
        sleep 0.1
    done
    curl -sSL --max-time 10 --cookie-jar "$work/cookies" "$link" | has -F '<script' && page=1
    kill -TERM $server
    wait $server || true
    [ $page = 1 ] || { cat "$work/web.log"; return 1; }
}
check_uses() {  # KIND PROGRAM WANTED...
    check "$1: a demo finds its leak" demo_answers "${@:2}"
    check "$1: its recording as text and as a page" reports_a_page "$2"
    check "$1: its recording in a browser" serves_a_page "$2"
    rm -rf "$root/var/lib/memscope/recordings" "$root/tmp/run.html"
}
nothing_left() {
    local left
    left=$(cd "$root/usr" && files_of "$packages/memscope-$version-linux-$native.tar.gz" | xargs ls -d 2>/dev/null || true)
    [ -z "$left" ] || { echo "$left"; return 1; }
}

check_deb() {
    root=$work/deb
    mount_into "$root"
    cp "$packages/memscope_${version}_$native.deb" "$root/tmp/"
    check '.deb: installs' inside dpkg -i "/tmp/memscope_${version}_$native.deb"
    check_service .deb
    check_uses .deb memscope 'Trainer.validate (train.py:' '`__main__.trainer.val_outputs` (list) has grown'
    check '.deb: installs again' inside dpkg -i "/tmp/memscope_${version}_$native.deb"
    check '.deb: removes' inside dpkg --purge memscope
    check '.deb: leaves no file' nothing_left
}

check_rpm() {
    root=$work/rpm
    mount_into "$root"
    # A Debian system has no rpm database, so dependencies cannot be checked.
    check '.rpm: installs' rpm --root "$root" --nodeps -i "$packages/memscope-$version-1.$native_processor.rpm"
    check '.rpm: wants the C library and nothing else of others' test "$(rpm -qp --requires "$packages/memscope-$version-1.$native_processor.rpm" 2>/dev/null | grep '\.so')" = 'libc.so.6(GLIBC_2.36)(64bit)'
    check_service .rpm
    check '.rpm: removes' rpm --root "$root" -e --nodeps memscope
    check '.rpm: leaves no file' nothing_left
}

own_libraries() {  # all but the C library's from beside the program
    local loaded
    loaded=$(inside env LD_TRACE_LOADED_OBJECTS=1 "$place/bin/memscope")
    echo "$loaded"
    ! grep -q 'not found' <<<"$loaded" && [ "$(grep -c "=> $place/" <<<"$loaded")" -eq "$(grep -c '^lib.*\.so' "$checkout/packaging/bundled.txt")" ] &&
        ! grep -v -e "=> $place/" -e '/lib[cm]\.so\.6 ' -e ld-linux -e linux-vdso <<<"$loaded"
}
watches() { inside "$place/bin/memscope" --cgroup "$target" --json --listen none --duration 1s | has '"comm":"sleep"'; }
shows_view() {  # in a terminal of its own, the escape sequences included
    script -qec "TERM=$1 chroot '$root' '$place/bin/memscope' --cgroup $target --listen none --duration 2s" /dev/null </dev/null |
        cat -v | tee "$work/view.log" | has -F '[?1049h'
}
check_tarball() {
    root=$work/tarball
    place="/srv/some where/memscope-$version-linux-$native"
    mount_into "$root"
    mkdir -p "$root/srv/some where"
    tar -xzf "$packages/memscope-$version-linux-$native.tar.gz" -C "$root/srv/some where"
    rm -rf "$root"/usr/lib/terminfo "$root"/usr/share/terminfo "$root"/etc/terminfo "$root"/usr/bin/python3*
    check 'tarball: version' says_version inside "$place/bin/memscope"
    check 'tarball: brings its libraries' own_libraries
    check 'tarball: doctor' inside "$place/bin/memscope" doctor
    check 'tarball: watches' watches
    check_uses tarball "$place/bin/memscope" 'There is no CPython'
    check 'tarball: knows a terminal the system does not' shows_view xterm-256color
    check 'tarball: falls back to lines on an unknown terminal' not shows_view unheard-of
}

within_namespace() {
    native=$(dpkg --print-architecture)
    case $native in
        arm64) native_processor=aarch64 foreign=amd64 foreign_processor=x86_64 ;;
        amd64) native_processor=x86_64 foreign=arm64 foreign_processor=aarch64 ;;
    esac
    version=$(sed -n 's/^project(memscope VERSION \([0-9.]*\).*/\1/p' "$checkout/CMakeLists.txt")
    target=ms-packages-$$ port=$((20000 + $$ % 10000))
    if [ "$only" = native ]; then
        check 'SHA256SUMS has all three files' has_right_sum 3
        check_contents "$native" "$native_processor"
        echo "not tested: the packages for $foreign"
    else
        check 'SHA256SUMS has all six files' has_right_sum 6
        check_contents "$native" "$native_processor"
        check_contents "$foreign" "$foreign_processor"
        check_foreign "$foreign" "$foreign_processor"
    fi
    start_job
    trap end_job EXIT
    check_deb
    check_rpm
    check_tarball
    [ $failed = 0 ] || { say "$failed checks FAILED"; return 1; }
}

if [ "${1:-}" = --within-namespace ]; then
    work=$2 only=$3
    within_namespace
    exit
fi

[ "$(id -u)" = 0 ] || die 'needs root: sudo tests/e2e/packages/packages.sh'
[[ ${1:-} =~ ^(native)?$ ]] || die "no '$1'; there is: native"
for tool in debootstrap unshare rpm cpio script curl qemu-x86_64-static; do
    command -v $tool >/dev/null || die "needs $tool: packaging/install-deps.sh package"
done
from=$(mirror)
[ -n "$from" ] || die "this machine's apt knows no mirror of $release"
through=$(proxy)
[ -z "$through" ] || export http_proxy=$through

work=$(mktemp -d /var/tmp/memscope-packages.XXXXXX)
chmod 755 "$work"
clean_up() {
    trap '' INT TERM HUP
    local tree
    for tree in deb rpm tarball; do end_processes "$work/$tree"; done
    remove_tree "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

say "Debian $release, from $from"
root=$work/deb
if [ -d "${PACKAGES_BASE:-}" ]; then cp -a "$PACKAGES_BASE" "$root"; else  # a tree made before, to save time
    patiently debootstrap --variant=minbase --include=python3 $release "$root" "$from" >/dev/null
fi
cp -a "$work/deb" "$work/rpm"
cp -a "$work/deb" "$work/tarball"
unshare --mount --propagation private -- bash "$(realpath "$0")" --within-namespace "$work" "${1:-}"
say 'all is well'
