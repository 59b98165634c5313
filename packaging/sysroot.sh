#!/usr/bin/env bash
# Unpacks the libraries of another Debian architecture into a directory, to build for it on this machine.
#   sysroot.sh ARCH DIRECTORY        ARCH: amd64 or arm64
set -euo pipefail
. "$(dirname "$0")/private-apt.sh"

# Headers and libraries that the build links, then their dependencies, which are shipped with the program. No libc6-dev:
# the cross compiler has its own headers of the C and C++ libraries, and a second set would conflict with them.
packages="libbpf-dev libelf-dev zlib1g-dev libfmt-dev libcli11-dev libtomlplusplus-dev prometheus-cpp-dev
          libmicrohttpd-dev rapidjson-dev nlohmann-json3-dev libncurses-dev libprotozero-dev libsqlite3-dev libzstd-dev libgtest-dev libgmock-dev
          libfmt9 libtomlplusplus3 libprometheus-cpp-core1.0
          libstdc++6 libgcc-s1 gcc-12-base libtinfo6"

die() { echo "sysroot.sh: $*" >&2; exit 1; }
[ $# = 2 ] || die 'usage: sysroot.sh ARCH DIRECTORY'
arch=$1 root=$2
case $arch in amd64 | arm64) ;; *) die "no architecture '$arch'; the architectures are: amd64, arm64" ;; esac

wanted=$(echo $packages | sha256sum | cut -d' ' -f1)
[ "$(cat "$root/.complete" 2>/dev/null)" != "$wanted" ] || exit 0

rm -rf "$root"
mkdir -p "$root" "$root.apt/debs"
private=$(cd "$root.apt" && pwd)
root=$(cd "$root" && pwd)
trap 'rm -rf "$private"' EXIT

private_apt_in "$private" "$arch" deb
(cd "$private/debs" && private_apt download $packages >"$private/log" 2>&1) ||
    { tail -n 5 "$private/log" >&2; die 'apt-get download failed'; }

# /lib is a link to /usr/lib, as on an installed system, so that links between the two work.
mkdir -p "$root/usr/lib"
ln -s usr/lib "$root/lib"
for package in "$private"/debs/*.deb; do
    # Not dpkg -x, because its tar would replace the link by a directory.
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$root" --no-same-owner --keep-directory-symlink
    dpkg-deb --show --showformat '${Package} ${Version}\n' "$package" >>"$root/.packages"
done
# Absolute links refer to the root of that system, so they are made relative.
find "$root" -type l -lname '/*' | while read -r link; do ln -sfnr "$root$(readlink "$link")" "$link"; done
echo "$wanted" >"$root/.complete"
echo "sysroot of $arch: $root ($(du -sh "$root" | cut -f1))"
