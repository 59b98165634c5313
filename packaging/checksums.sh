#!/bin/sh
# Writes SHA256SUMS of the packages in a directory. If MEMSCOPE_SIGNING_KEY names a key of GnuPG, signs that file, too:
# SHA256SUMS.asc. If this key cannot be used, the script fails, so that no packages are published without a signature.
set -eu
cd "$1"
rm -f SHA256SUMS SHA256SUMS.asc
sha256sum -- *.tar.gz *.deb *.rpm >SHA256SUMS
if [ -n "${MEMSCOPE_SIGNING_KEY:-}" ]; then
    gpg --batch --yes --armor --local-user "$MEMSCOPE_SIGNING_KEY" --detach-sign --output SHA256SUMS.asc SHA256SUMS
fi
