# Completion of memscope for bash.
_memscope() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= i
    local watching='--cgroup --pid --memory-max --user --job-output --wait --interval --duration --listen --http-status --http-host --linger
        --report-dir --record --record-max --on-precursor --on-death --on-timeout --json --quiet --no-maps --no-growth --no-python --no-gpu --torch --growth-budget --warmup --fail-on --config --help --version'
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case ${COMP_WORDS[i]} in
            --) return ;; # a command of the user's: default completion
            status | growth | heap | verdict | report | recordings | export | replay | compare | web | doctor | demo) command=${COMP_WORDS[i]} ;;
        esac
    done
    case $before in
        --cgroup)
            # Paths below the hierarchy: v2, or the memory controller of v1.
            local root=/sys/fs/cgroup
            [ ! -d $root/memory ] || root=$root/memory
            mapfile -t COMPREPLY < <(cd $root && compgen -d -S / -- "$word")
            compopt -o nospace
            return
            ;;
        --pid) mapfile -t COMPREPLY < <(cd /proc && compgen -W "$(echo [0-9]*)" -- "$word"); return ;;
        --on-precursor | --on-death) mapfile -t COMPREPLY < <(compgen -c -- "$word"); return ;;
        --user) mapfile -t COMPREPLY < <(compgen -u -- "$word"); return ;;
        --report-dir | --record) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
        --config | --html | --job-output) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
        --memory-max | --interval | --duration | --listen | --http-host | --linger | --on-timeout | --target | --top | --again | --record-max | --from | --to | --speed | --remove | --limit | --warmup | --scenario-seconds) return ;;
        --time | --value | --gpu) return ;;
        --unit) mapfile -t COMPREPLY < <(compgen -W 'B kB MB GB TB KiB MiB GiB TiB' -- "$word"); return ;;
        --fail-on) mapfile -t COMPREPLY < <(compgen -W 'insufficient warming_up stable spiky leaking' -- "$word"); return ;;
        --format)
            local formats='text json folded pprof'
            case $command in
                heap) formats='text json' ;;
                export) formats='csv json openmetrics perfetto recording' ;;
                compare) formats='text markdown junit json' ;;
            esac
            mapfile -t COMPREPLY < <(compgen -W "$formats" -- "$word")
            return
            ;;
    esac
    local words="status growth heap verdict report recordings export replay compare web doctor demo $watching"
    case $command in
        status) words='--target --json --help' ;;
        growth) words='--target --since --at --stacks --top --format --help' ;;
        heap) words='--target --pid --again --top --type --format --help' ;;
        verdict) words='--time --value --unit --gpu --interval --limit --warmup --json --fail-on --help' ;;
        report) words='--json --report-dir --target --record --html --with-commands --help' ;;
        recordings) words='--remove --json --record --help' ;;
        export) words='--format --from --to --target --output --record --help' ;;
        replay) words='--from --speed --target --record --help' ;;
        compare) words='--fail-on --format --target --record --help' ;;
        web) words='--target --listen --no-browser --record --help' ;;
        doctor) words='--json --help' ;;
        demo) words='leak warmup spikes steps workers wrapper fragmentation crashloop --scenario-seconds --help' ;;
        *) [ "$COMP_CWORD" = 1 ] || words=$watching ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _memscope memscope
