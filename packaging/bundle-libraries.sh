#!/usr/bin/env bash
# Copies the shared libraries that a program loads, and their own dependencies, into a directory.
#   bundle-libraries.sh PROGRAM DIRECTORY LIBRARY_DIRECTORY...
# Reads the ELF files and runs nothing, so the program may be for another machine. Leaves out the C library, because it
# belongs to the system that runs the program, together with its loader and its name services.
set -euo pipefail

program=$1 into=$2
shift 2
of_the_system='^(libc|libm|libdl|librt|libpthread|libresolv|ld-linux-(x86-64|aarch64))\.so\.[0-9]+$'

needed() { readelf -dW "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'; }

find_library() {
    local directory
    for directory in "${@:2}"; do
        [ ! -e "$directory/$1" ] || { echo "$directory/$1"; return; }
    done
    echo "bundle-libraries.sh: library $1 not found in ${*:2}" >&2
    return 1
}

rm -rf "$into"
mkdir -p "$into"
queue=("$program")
while [ ${#queue[@]} -gt 0 ]; do
    file=${queue[0]}
    queue=("${queue[@]:1}")
    for name in $(needed "$file"); do
        [[ ! $name =~ $of_the_system && ! -e $into/$name ]] || continue
        found=$(find_library "$name" "$@")
        install -m 644 "$found" "$into/$name"
        queue+=("$found")
    done
done
