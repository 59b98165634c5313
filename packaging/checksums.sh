#!/bin/sh
# Writes SHA256SUMS of the packages in a directory. If MEMSCOPE_SIGNING_KEY names a key of GnuPG, signs that file, too:
# SHA256SUMS.asc. A key that is named and cannot be used is an error, so that nobody publishes packages without it.
set -eu
cd "$1"
rm -f SHA256SUMS SHA256SUMS.asc
sha256sum -- *.tar.gz *.deb *.rpm >SHA256SUMS
if [ -n "${MEMSCOPE_SIGNING_KEY:-}" ]; then
    gpg --batch --yes --armor --local-user "$MEMSCOPE_SIGNING_KEY" --detach-sign --output SHA256SUMS.asc SHA256SUMS
fi
