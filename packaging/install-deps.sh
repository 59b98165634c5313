#!/usr/bin/env bash
# Installs the packages for building and testing, from Debian 12 itself. Installs only missing packages.
#   install-deps.sh [build] [demo] [build-tests] [test] [e2e] [bench] [python] [fuzz] [cross] [package] [docs] [vm] [vm-native]      (default: build and test)
set -euo pipefail

build="g++ cmake ninja-build pkg-config clang-19 llvm-19 bpftool libbpf-dev libelf-dev zlib1g-dev
       libfmt-dev libcli11-dev libtomlplusplus-dev prometheus-cpp-dev libmicrohttpd-dev rapidjson-dev
       libncurses-dev libprotozero-dev libsqlite3-dev libzstd-dev"
demo="python3"  # runs the job of a demo; a minimal Debian has no Python
build_tests="libgtest-dev libgmock-dev nlohmann-json3-dev libclang-rt-19-dev mold git python3"
test="clang-format-19 clang-tidy-19 prometheus prometheus-process-exporter python3-yaml procps tmux curl jq
      man-db gnupg sysstat zsh fish systemd util-linux libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0 libpython3.11 python3-numpy python3-torch python3-markdown"
e2e="prometheus-alertmanager"  # also needs npm, from any source
bench="linux-perf bpftrace heaptrack"  # tools that memscope is compared with
vm="cpio zstd lz4 binutils python3 debian-archive-keyring"  # also needs qemu, for one architecture or both
# The compiler for the other architecture; its libraries are not installed, see sysroot.sh.
case "$(dpkg --print-architecture)" in
    amd64) cross="g++-aarch64-linux-gnu" qemu="qemu-system-x86" ;;
    *) cross="g++-x86-64-linux-gnu" qemu="qemu-system-arm" ;;
esac

[ $# -gt 0 ] || set -- build test
wanted=()
for group in "$@"; do
    case "$group" in
        build) wanted+=($build) ;;
        demo) wanted+=($demo) ;;
        build-tests | test)
            wanted+=($build $build_tests)
            [ "$group" = test ] || continue
            wanted+=($test)
            command -v npm >/dev/null || wanted+=(nodejs npm)  # the web page
            # A browser that tests the web page.
            command -v chromium >/dev/null || wanted+=(chromium)
            ;;
        e2e)
            wanted+=($e2e)
            command -v npm >/dev/null || wanted+=(nodejs npm)
            ;;
        bench) wanted+=($bench) ;;
        docs) wanted+=(python3-markdown) ;;
        python) wanted+=(gcc make xz-utils libffi-dev debian-archive-keyring) ;;  # to build CPython from source
        vm) wanted+=($build $vm qemu-system-arm qemu-system-x86) ;;
        vm-native) wanted+=($build $vm $qemu) ;;
        fuzz) wanted+=($build libclang-rt-19-dev nlohmann-json3-dev) ;;
        cross) wanted+=($cross libgtest-dev libgmock-dev nlohmann-json3-dev dpkg-dev make) ;;
        package)
            wanted+=(rpm cpio curl debootstrap qemu-user-static)
            command -v npm >/dev/null || wanted+=(nodejs npm)  # the web page
            ;;
        *) echo "install-deps.sh: no group '$group'; the groups are: build, demo, build-tests, test, e2e, bench, python, fuzz, cross, package, docs, vm, vm-native" >&2; exit 2 ;;
    esac
done

missing=()
for package in "${wanted[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing: ${missing[*]}"
root=()
[ "$(id -u)" = 0 ] || root=(sudo)
options=(-y -q --no-install-recommends -o Acquire::Retries=5)
# Keeps packages from starting their services, because a build machine does not need them.
policy=/usr/sbin/policy-rc.d
made_policy=
if [ ! -e $policy ]; then
    printf '#!/bin/sh\nexit 101\n' | "${root[@]}" tee $policy >/dev/null
    "${root[@]}" chmod +x $policy
    made_policy=yes
fi
trap '[ -z "$made_policy" ] || "${root[@]}" rm -f $policy' EXIT
"${root[@]}" apt-get update -q
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install "${options[@]}" "${missing[@]}"
