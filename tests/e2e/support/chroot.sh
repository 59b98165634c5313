# Debian 12 systems in directories, for tests that source this. They set `root`, and define say().

release=bookworm

# The mirror that this machine uses, and its proxy if it has one.
mirror() {
    apt-get indextargets --format '$(REPO_URI)' "Release: $release" 'Component: main' 'Created-By: Packages' | sort -u | head -n 1
}
proxy() { local found=; eval "$(apt-config shell found Acquire::http::Proxy)"; printf '%s' "$found"; }

# A registry may answer 429 after hundreds of requests.
patiently() {
    local try log=$root.log
    for try in 1 2 3; do
        if "$@" 2>&1 | tee "$log"; then return 0; fi
        grep -qE 'Too Many Requests|Temporary failure|Connection (failed|timed out)' "$log" || return 1
        say "the registry refused; again in $((try * 30)) s"
        sleep $((try * 30))
    done
    return 1
}

# Uses a mount namespace of its own. The kernel removes these mounts when the script ends for any reason, and other
# processes do not see them. So removing the directory cannot remove files of a mount.
mount_into() {
    mount --bind "$1" "$1"  # / of a machine is a mount, and tests that make namespaces of their own rely on it
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    mount -t tmpfs -o mode=755 run "$1/run"
}

end_processes() {  # processes in the tree that a command may have left
    local process
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/root" 2>/dev/null)" = "$1" ] && kill -9 "${process#/proc/}" 2>/dev/null
    done
    return 0
}

remove_tree() {
    # Not while anything is mounted in it; --one-file-system is a second safeguard.
    if grep -qF " $1/" /proc/self/mountinfo; then say "still mounted, not removed: $1"; return; fi
    rm -rf --one-file-system -- "$1"
}
