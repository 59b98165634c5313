# Completion of memscope for fish.
function __memscope_cgroups
    set -l root /sys/fs/cgroup
    test -d $root/memory; and set root $root/memory
    for directory in $root/*/ $root/*/*/
        string replace -r "^$root/(.*)/\$" '$1' $directory
    end
end

set -l commands status growth heap verdict report recordings export replay compare doctor demo
set -l watching "not __fish_seen_subcommand_from $commands"
complete -c memscope -f
complete -c memscope -n "__fish_is_first_arg" -a status -d 'Show the last tick of a running watcher'
complete -c memscope -n "__fish_is_first_arg" -a growth -d 'Show what grew, by call site'
complete -c memscope -n "__fish_is_first_arg" -a heap -d 'Show what is in the heap of a process'
complete -c memscope -n "__fish_is_first_arg" -a verdict -d 'Judge a recorded series'
complete -c memscope -n "__fish_is_first_arg" -a report -d 'Show the last death report'
complete -c memscope -n "__fish_is_first_arg" -a recordings -d 'List or remove recordings'
complete -c memscope -n "__fish_is_first_arg" -a export -d 'Write a recorded series for other tools'
complete -c memscope -n "__fish_is_first_arg" -a replay -d 'Show a recording in the live view'
complete -c memscope -n "__fish_is_first_arg" -a compare -d 'Compare recordings of a job'
complete -c memscope -n "__fish_is_first_arg" -a doctor -d 'Show what works on this machine'
complete -c memscope -n "__fish_is_first_arg" -a demo -d 'Run and watch a small job whose verdict is known'
complete -c memscope -n "__fish_seen_subcommand_from demo" -a 'leak warmup spikes steps workers wrapper fragmentation crashloop'
complete -c memscope -n "__fish_seen_subcommand_from demo" -l scenario-seconds -x -d 'Length of the demo in seconds'
complete -c memscope -n "__fish_seen_subcommand_from status growth heap" -l target -x -d 'Name of the target'
complete -c memscope -n "__fish_seen_subcommand_from growth" -l top -x -d 'Number of call sites'
complete -c memscope -n "__fish_seen_subcommand_from growth" -l since -x -a 'warmup start 10m' -d 'Beginning of the growth'
complete -c memscope -n "__fish_seen_subcommand_from growth" -l at -x -a 'now peak' -d 'Time of what is held'
complete -c memscope -n "__fish_seen_subcommand_from growth" -l stacks -d 'A row for each stack'
complete -c memscope -n "__fish_seen_subcommand_from growth" -l format -x -a 'text json folded pprof' -d 'Output format'
complete -c memscope -n "__fish_seen_subcommand_from heap" -l pid -x -a '(__fish_complete_pids)' -d 'Process'
complete -c memscope -n "__fish_seen_subcommand_from heap" -l again -x -d 'Time until a second census'
complete -c memscope -n "__fish_seen_subcommand_from heap" -l top -x -d 'Number of entries of each list'
complete -c memscope -n "__fish_seen_subcommand_from heap" -l type -x -d 'Only holders of this Python type'
complete -c memscope -n "__fish_seen_subcommand_from heap" -l format -x -a 'text json' -d 'Output format'
complete -c memscope -n "__fish_seen_subcommand_from verdict" -F
complete -c memscope -n "__fish_seen_subcommand_from verdict" -l limit -x -d 'Limit to forecast'
complete -c memscope -n "__fish_seen_subcommand_from verdict" -l warmup -x -d 'Growth since the start that ends within this time is not a leak'
complete -c memscope -n "__fish_seen_subcommand_from verdict" -l fail-on -x -a 'insufficient warming_up stable spiky leaking' -d 'Verdicts that make the exit status 3'
complete -c memscope -n "__fish_seen_subcommand_from report" -F
complete -c memscope -n "__fish_seen_subcommand_from report" -l report-dir -x -a '(__fish_complete_directories)' -d 'Directory of death reports'
complete -c memscope -n "__fish_seen_subcommand_from status verdict report recordings doctor" -l json -d 'As JSON'
complete -c memscope -n "__fish_seen_subcommand_from export replay compare" -F
complete -c memscope -n "__fish_seen_subcommand_from report export replay compare" -l target -x -d 'Name of the target'
complete -c memscope -n "__fish_seen_subcommand_from report recordings export replay compare" -l record -x -a '(__fish_complete_directories)' -d 'Directory of recordings'
complete -c memscope -n "__fish_seen_subcommand_from recordings" -l remove -r -F -d 'Remove a recording'
complete -c memscope -n "__fish_seen_subcommand_from export" -l format -x -a 'csv json openmetrics perfetto recording' -d 'Output format'
complete -c memscope -n "__fish_seen_subcommand_from export replay" -l from -x -d 'First moment'
complete -c memscope -n "__fish_seen_subcommand_from export" -l to -x -d 'Last moment'
complete -c memscope -n "__fish_seen_subcommand_from export" -l output -r -d 'File to write'
complete -c memscope -n "__fish_seen_subcommand_from replay" -l speed -x -d 'Seconds in a second'
complete -c memscope -n "__fish_seen_subcommand_from compare" -l format -x -a 'text markdown junit json' -d 'Output format'
complete -c memscope -n "__fish_seen_subcommand_from compare" -l fail-on -x -d 'Rules that make the exit status 3'
complete -c memscope -n "$watching" -l cgroup -x -a '(__memscope_cgroups)' -d 'Watch a cgroup'
complete -c memscope -n "$watching" -l pid -x -a '(__fish_complete_pids)' -d 'Watch a process and its descendants'
complete -c memscope -n "$watching" -l memory-max -x -d 'Limit of the command'
complete -c memscope -n "$watching" -l user -x -a '(__fish_complete_users)' -d 'User that runs the command'
complete -c memscope -n "$watching" -l wait -d 'Wait for a cgroup that does not exist yet'
complete -c memscope -n "$watching" -l interval -x -d 'Time between two samples'
complete -c memscope -n "$watching" -l duration -x -d 'End after this time'
complete -c memscope -n "$watching" -l listen -x -d 'Address that serves /metrics'
complete -c memscope -n "$watching" -l http-status -d 'Also serve /api/v1/status'
complete -c memscope -n "$watching" -l http-host -x -d 'Host name by which clients reach that address'
complete -c memscope -n "$watching" -l linger -x -d 'Keep serving after the end'
complete -c memscope -n "$watching" -l report-dir -x -a '(__fish_complete_directories)' -d 'Directory for death reports'
complete -c memscope -n "$watching" -l record -r -F -d 'Directory or file of recordings'
complete -c memscope -n "$watching" -l record-max -x -d 'Size of all recordings'
complete -c memscope -n "$watching" -l on-precursor -x -a '(__fish_complete_command)' -d 'Run this command at a precursor of an OOM kill'
complete -c memscope -n "$watching" -l on-death -x -a '(__fish_complete_command)' -d 'Run this command when processes have died'
complete -c memscope -n "$watching" -l on-timeout -x -d 'Timeout of each of these commands'
complete -c memscope -n "$watching" -l json -d 'One JSON object per sample and target'
complete -c memscope -n "$watching" -l quiet -d 'Print errors only'
complete -c memscope -n "$watching" -l no-maps -d 'Do not count mapped bytes'
complete -c memscope -n "$watching" -l no-growth -d 'Do not attribute growth to lines of code'
complete -c memscope -n "$watching" -l no-python -d 'Attribute growth to native code only'
complete -c memscope -n "$watching" -l no-gpu -d "Do not read GPU memory from NVIDIA's driver"
complete -c memscope -n "$watching" -l torch -d "Count the bytes of PyTorch's tensors"
complete -c memscope -n "$watching" -l warmup -x -d 'Growth since the start that ends within this time is not a leak'
complete -c memscope -n "$watching" -l fail-on -x -a 'insufficient warming_up stable spiky leaking' -d 'Exit with 3 if the last verdict is one of these'
complete -c memscope -n "$watching" -l growth-budget -x -d 'Share of CPU time that recording growth may cost'
complete -c memscope -n "$watching" -l config -r -F -d 'Settings in TOML'
complete -c memscope -s h -l help -d 'Print a summary'
complete -c memscope -l version -d 'Print the version'
