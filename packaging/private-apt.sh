# To be sourced. An apt that works in a directory of its own (lists, cache, configuration): nothing is installed, and the
# architectures, lists and locks of this machine's apt stay as they are. The mirrors and their proxy are this machine's.
#   private_apt_in DIRECTORY ARCH KIND      KIND: deb or deb-src
#   private_apt ARGUMENT...
private_apt_in() {
    local private=$1 arch=$2 kind=$3
    mkdir -p "$private"/{state/lists/partial,cache/archives/partial,etc/preferences.d,etc/trusted.gpg.d}
    # One line for each suite of Debian 12 that the apt of this machine uses.
    apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Component: main' 'Created-By: Packages' | sort -u |
        while read -r uri suite; do
            [[ $suite != bookworm* ]] || echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $uri $suite main"
        done >"$private/etc/sources.list"
    [ -s "$private/etc/sources.list" ] || die "this machine's apt knows no mirror of Debian bookworm"
    : >"$private/state/status"
    private_apt_options=(-q -o Dir::State="$private/state" -o Dir::State::status="$private/state/status"
        -o Dir::Cache="$private/cache" -o Dir::Etc::SourceList="$private/etc/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o Dir::Etc::Preferences=/dev/null -o Dir::Etc::PreferencesParts="$private/etc/preferences.d"
        -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o APT::Sandbox::User=
        -o Acquire::Retries=8 -o Acquire::Languages=none)
    private_apt update >"$private/log" 2>&1 || { tail -n 5 "$private/log" >&2; die 'apt-get update failed'; }
}
private_apt() { apt-get "${private_apt_options[@]}" "$@"; }
