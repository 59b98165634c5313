// The first screen: is it a leak, when does the job run out of memory, which roles hold the memory.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { bars, byName, byQuery, colour, gauge, lines, stat, steps, timeline, words } from '../panels.js';
import { CODES, verdictCode } from '../verdict.js';
import { JOB, of, WATCHER } from './select.js';

export const glance: Row = {
  panels: [
    stat([4, 5], {
      title: 'Is it a leak?', unit: 'none',
      description: 'The verdict on the memory of the whole job. Warming up: memory has grown since the start of the run, and it is too early to call this a leak. Stable: the floor is flat. Spiky: the floor is flat, and there are spikes above it. Leaking: the floor keeps rising after the warm-up. `memscope status` explains the verdict in a sentence. On $instance, `memscope web --target $target` shows the processes, the lines of code and the Python containers that hold memory (docs/web.md).',
      queries: { verdict: verdictCode(`${JOB},scope="target"`, 'target') }, field: { mappings: CODES }, text: BigValueTextMode.Value,
    }),
    stat([5, 5], {
      title: 'When does it run out of memory?', unit: 's',
      description: 'The time until the job reaches a limit if growth continues. The name is the owner of the limit that is reached first: the job itself (own), an ancestor of its cgroup (ancestor), the host, or NUMA nodes (numa). Basis leak: the rate of a leak, or a recurring spike. Basis warmup: the rate of a warm-up. The limit is not reached if the warm-up ends before. Basis trend: a steady rise in the last 10 to 60 s, close to the limit. A trend needs no verdict.',
      queries: { '{{owner}}, basis {{basis}}': `${of('oom_eta_seconds', JOB, 'scope="target"')} * on (instance, job, target) group_left (owner) (${of('oom_eta_limit_owner')} == 1)` },
      field: { noValue: 'no forecast', thresholds: steps('red', [600, 'orange'], [3600, 'green']) },
      text: BigValueTextMode.ValueAndName,
    }),
    bars([7, 5], {
      title: 'How much memory does each role hold?', unit: 'bytes',
      description: 'PSS by role. The PSS divides each page by the number of processes that map it, so the bars add up to the memory that the processes use. memscope reads the PSS less often than other values: about every 10 s for small processes, and every few minutes for large processes.',
      queries: { '{{role}}': `sort_desc(sum by (role) (${of('role_pss_bytes')}))` }, field: { min: 0, color: colour('blue') },
    }),
    gauge([5, 5], {
      title: 'How much of the limit is unreclaimable memory?', unit: 'percentunit',
      description: 'Unreclaimable memory (and swap, if the limit counts swap) divided by the effective limit. The memory of other jobs below the same limit is included. Page cache is not included. By default MemscopeNearLimit fires after 30 s at 90 %, or MemscopeHostNearLimit if the limit is the memory of the machine.',
      queries: { 'share of the limit': `1 - ${of('memory_headroom_bytes')} / ${of('memory_effective_limit_bytes')}` },
      field: { min: 0, max: 1, thresholds: steps('green', [0.8, 'orange'], [0.9, 'red']) },
    }),
    stat([3, 5], {
      title: 'How many bytes are left?', unit: 'bytes',
      description: 'The headroom: the effective limit minus all memory that counts against it. Page cache does not count. Other jobs below the same limit can also use the headroom.',
      queries: { headroom: of('memory_headroom_bytes') }, field: { color: colour('blue') }, graph: true,
    }),
    lines([17, 9], {
      title: 'How close is unreclaimable memory to the limit?', unit: 'bytes', legend: 'right',
      description: 'When unreclaimable memory (and swap, if the limit counts swap) reaches a limit, the kernel kills a process. The usage can be at the limit for days without a kill, because the kernel can reclaim page cache. The effective limit is the limit with the least headroom. Another limit may be reached first if memory grows. The legend names the owner of each limit: the job itself (own), an ancestor of its cgroup (ancestor), the host, or NUMA nodes (numa). If the owner is not the job itself, the memory of other jobs also counts against the limit, and these lines do not contain it. The verdict is based on the floor. The marks are deaths and changes of the verdict.',
      queries: {
        unreclaimable: of('memory_unreclaimable_bytes'), 'usage with page cache': of('memory_usage_bytes'), 'swap in use': of('memory_swap_bytes'),
        'effective limit: {{owner}}': `${of('memory_effective_limit_bytes')} * on (instance, job, target) group_left (owner) (${of('memory_limit_owner')} == 1)`,
        floor: of('floor_bytes', JOB, 'scope="target"'),
        'limit reached first: {{owner}}': `${of('oom_eta_limit_bytes')} * on (instance, job, target) group_left (owner) (${of('oom_eta_limit_owner')} == 1)`,
      },
      field: { min: 0 },
      overrides: [
        byQuery('A', [{ id: 'custom.lineWidth', value: 2 }, { id: 'custom.fillOpacity', value: 20 }, { id: 'color', value: colour('orange') }]),
        byQuery('B', [{ id: 'custom.fillOpacity', value: 0 }, { id: 'color', value: colour('blue') }]),
        byQuery('D', [{ id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineWidth', value: 2 }, { id: 'color', value: colour('red') }]),
        byQuery('E', [{ id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 6] } }, { id: 'color', value: colour('purple') }]),
        byQuery('F', [{ id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineStyle', value: { fill: 'dash', dash: [8, 6] } }, { id: 'color', value: colour('red') }]),
      ],
    }),
    { w: 7, block: [
      stat([7, 3], {
        title: 'Which precursors of an OOM kill are active?', unit: 'none',
        description: 'The precursors that are active now. docs/precursors.md explains each precursor and says what to do.',
        queries: { '{{precursor}}': `${of('oom_precursor')} == 1` }, field: { noValue: 'none', color: colour('red') }, text: BigValueTextMode.Name,
      }),
      stat([7, 3], {
        title: 'Which processes died in the time shown?', unit: 'none',
        description: 'The number of processes that died, by cause. Normal exits and teardown are not counted. `memscope report` prints the report of the last death. `memscope web` shows the recorded run (docs/web.md). The runbook is docs/alerts.md.',
        queries: { '{{cause}}': `round(sum by (cause) (increase(${of('deaths_total', JOB, 'sender!="tree"')}[$__range]))) > 0` },
        field: { noValue: 'none', decimals: 0, color: colour('red') }, text: BigValueTextMode.ValueAndName,
      }),
      stat([3, 3], {
        title: 'Does the job still exist?', unit: 'none',
        description: 'The panel shows whether the watched cgroup, process or command still exists. After its end memscope exports the last values for the time of --linger if a process of the job died, or if memscope watches no other job. Otherwise the panel becomes empty.',
        queries: { target: of('target_up') }, field: { mappings: words([['0', 'ended', 'orange'], ['1', 'watched', 'green']]) }, text: BigValueTextMode.Value,
      }),
      stat([4, 3], {
        title: 'How old are the values on this page?', unit: 's',
        description: 'The time from the last tick of the watcher to now. The tick has the time of the watched machine, and now is the time of Prometheus, so a difference between the two clocks makes this value wrong. If the value keeps growing above 60 s, the watcher is stuck or all its jobs have ended, and this page shows old values.',
        queries: { 'age of the last tick': `time() - ${of('last_tick_timestamp_seconds', WATCHER)}` },
        field: { decimals: 0, thresholds: steps('green', [30, 'orange'], [60, 'red']) },
      }),
    ] },
    timeline([16, 4], {
      title: 'What were the verdicts of the job and its roles?', unit: 'none',
      description: 'The verdict on the job and the verdict on each role over time. If the ranks of a role have different verdicts, the panel shows the worst verdict. Leaking is the worst, then spiky, stable, warming up, too early to tell.',
      queries: { job: verdictCode(`${JOB},scope="target"`, 'target'), '{{role}}': verdictCode(`${JOB},scope="role",role=~"$role",rank=~"$rank"`, 'role') },
      field: { mappings: CODES }, overrides: [byName('job', [{ id: 'displayName', value: 'the job' }])],
    }),
    timeline([8, 4], {
      title: 'Where was a leak suspected?', unit: 'none',
      description: 'Suspected: a Python container has gained items for 30 s, has given none back, and is a meaningful part of the growth, but there is no verdict yet. The suspicion ends when the container stops growing and when there is a verdict. `memscope status` names the container.',
      queries: {
        job: `max by (target) (${of('leak_suspected', JOB, 'scope="target"')})`,
        '{{role}}': `max by (role) (${of('leak_suspected', JOB, 'scope="role",role=~"$role",rank=~"$rank"')})`,
        'GPU {{gpu}}': `max by (gpu) (${of('leak_suspected', JOB, 'scope="gpu"')})`,
      },
      field: { mappings: words([['0', 'no', 'text'], ['1', 'suspected', 'orange']]) },
      overrides: [byName('job', [{ id: 'displayName', value: 'the job' }])],
    }),
  ],
};
