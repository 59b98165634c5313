#!/usr/bin/env bash
# Copies the licences of all shipped libraries (bundled.txt) into a directory, and lists their versions.
#   bundle-licences.sh LIBRARIES DIRECTORY SYSTEM
# LIBRARIES: the directory of the shipped libraries; a library that is not in bundled.txt is an error. SYSTEM: / or a
# sysroot.
set -euo pipefail

libraries=$1 into=$2 system=${3%/}
table=$(dirname "$0")/bundled.txt
die() { echo "bundle-licences.sh: $*" >&2; exit 1; }

version() {
    if [ -z "$system" ]; then
        dpkg-query -W -f '${Version}\n' "$1"
    else
        awk -v name="$1" '$1 == name { print $2 }' "$system/.packages"
    fi
}

for library in "$libraries"/*; do
    awk -v name="$(basename "$library")" '$1 == name { known = 1 } END { exit !known }' "$table" || die "$table has no Debian package for $library"
done

rm -rf "$into"
mkdir -p "$into/common"
{
    echo 'The libraries that are shipped with memscope or linked into it, as packaged in Debian 12. Their sources are in the'
    echo 'Debian archive under the same name and version, and on snapshot.debian.org. The licence of each is in the file of'
    echo 'the same name in this directory.'
    echo
    grep -v '^#' "$table" | while read -r _ package; do
        found=$(version "$package")
        [ -n "$found" ] || die "$package is not installed in ${system:-/}"
        printf '%-28s %s\n' "$package" "$found"
        install -m 644 "$system/usr/share/doc/$package/copyright" "$into/$package"
    done
} >"$into/LIST"
# The licence files above refer to these, which only Debian installs on every machine.
for licence in Apache-2.0 GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3; do
    install -m 644 "/usr/share/common-licenses/$licence" "$into/common/$licence"
done
