#!/usr/bin/env bash
# Builds libmicrohttpd.a without TLS from Debian's source package, with Debian's patches. memscope serves plain HTTP on
# loopback, and the library that Debian builds would bring GnuTLS and eight more libraries along.
#   microhttpd.sh ARCH DIRECTORY        ARCH: amd64 or arm64
# The version is that of the headers that memscope is built with: libmicrohttpd-dev of this machine, or of its sysroot.
set -euo pipefail
. "$(dirname "$0")/private-apt.sh"

die() { echo "microhttpd.sh: $*" >&2; exit 1; }
[ $# = 2 ] || die 'usage: microhttpd.sh ARCH DIRECTORY'
arch=$1 into=$2
case $arch in
    amd64) host=x86_64-linux-gnu ;;
    arm64) host=aarch64-linux-gnu ;;
    *) die "no architecture '$arch'; there are: amd64, arm64" ;;
esac
options=(--disable-https --disable-shared --enable-static --with-pic --disable-doc --disable-examples --disable-curl
    --disable-dauth --disable-bauth --disable-postprocessor --disable-httpupgrade)
flags='-O2 -g -fstack-protector-strong -D_FORTIFY_SOURCE=2'

if [ "$(dpkg --print-architecture)" = "$arch" ]; then
    version=$(dpkg-query -W -f '${source:Version}' libmicrohttpd-dev)
else
    version=$(sed -n 's/^libmicrohttpd-dev //p' "$(dirname "$into")/sysroot-$arch/.packages" | sed 's/+b[0-9]*$//')
fi
[ -n "$version" ] || die 'libmicrohttpd-dev is not there'
wanted="$version ${options[*]} $flags"
[ "$(cat "$into/.complete" 2>/dev/null)" != "$wanted" ] || exit 0

rm -rf "$into"
mkdir -p "$into/work"
into=$(cd "$into" && pwd)
trap 'rm -rf "$into/work"' EXIT
private_apt_in "$into/work/apt" "$(dpkg --print-architecture)" deb-src
cd "$into/work"
private_apt source --download-only "libmicrohttpd=$version" >log 2>&1 || { tail -n 5 log >&2; die 'apt-get source failed'; }
dpkg-source -x ./*.dsc tree >log 2>&1 || { tail -n 5 log >&2; die 'dpkg-source failed'; }
cd tree
./configure -q --host=$host CC=$host-gcc CFLAGS="$flags" "${options[@]}" >../log 2>&1 || { tail -n 5 ../log >&2; die 'configure failed'; }
make -s -j "$(nproc)" -C src/microhttpd libmicrohttpd.la >../log 2>&1 || { tail -n 20 ../log >&2; die 'make failed'; }
cp src/microhttpd/.libs/libmicrohttpd.a "$into"
echo "$wanted" >"$into/.complete"
echo "libmicrohttpd $version for $arch, without TLS: $into/libmicrohttpd.a"
