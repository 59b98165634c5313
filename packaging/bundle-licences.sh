#!/usr/bin/env bash
# Copies the licences of all that is shipped with the program (bundled.txt) into a directory, and lists the versions.
#   bundle-licences.sh LIBRARIES DIRECTORY SYSTEM
# LIBRARIES: what lies beside the program; one that bundled.txt does not know is an error. SYSTEM: / or a sysroot.
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
    awk -v name="$(basename "$library")" '$1 == name { known = 1 } END { exit !known }' "$table" || die "$table does not say where $library is from"
done

rm -rf "$into"
mkdir -p "$into/common"
{
    echo 'What is shipped with memscope, beside it or inside it, as Debian 12 has it. Its source is in the Debian archive'
    echo 'under the same name and version, and on snapshot.debian.org; its licence is in the file of the same name here.'
    echo
    grep -v '^#' "$table" | while read -r _ package; do
        found=$(version "$package")
        [ -n "$found" ] || die "$package has no version in ${system:-/}"
        printf '%-28s %s\n' "$package" "$found"
        install -m 644 "$system/usr/share/doc/$package/copyright" "$into/$package"
    done
} >"$into/LIST"
# The files above refer to these, which only Debian has on every machine.
for licence in Apache-2.0 GPL-2 GPL-3 LGPL-2 LGPL-2.1 LGPL-3; do
    install -m 644 "/usr/share/common-licenses/$licence" "$into/common/$licence"
done
