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
      description: 'The verdict of the whole job. Warming up: the job has grown since its start, and it is too early to call that a leak. Leaking: the floor keeps rising after the warm-up. `memscope status` gives the reason in a sentence. On $instance, `memscope web --target $target` shows the process, the line and who holds the memory (docs/web.md).',
      queries: { verdict: verdictCode(`${JOB},scope="target"`, 'target') }, field: { mappings: CODES }, text: BigValueTextMode.Value,
    }),
    stat([5, 5], {
      title: 'When does it run out of memory?', unit: 's',
      description: 'Time until the first limit is reached if growth continues, and the owner of that limit: the job itself, an ancestor of its cgroup, or the host. Basis leak: the forecast is reliable. Basis warmup: it is true only if the warm-up does not end. Basis trend: an extrapolation of the last minute, because there was no time for a verdict.',
      queries: { '{{owner}}, basis {{basis}}': `${of('oom_eta_seconds', JOB, 'scope="target"')} * on (instance, job, target) group_left (owner) (${of('oom_eta_limit_owner')} == 1)` },
      field: { noValue: 'no forecast', thresholds: steps('red', [600, 'orange'], [3600, 'green']) },
      text: BigValueTextMode.ValueAndName,
    }),
    bars([7, 5], {
      title: 'How much memory does each role hold?', unit: 'bytes',
      description: 'PSS by role: each page is divided among the processes that map it, so the bars add up. These values are some seconds older than the others.',
      queries: { '{{role}}': `sort_desc(sum by (role) (${of('role_pss_bytes')}))` }, field: { min: 0, color: colour('blue') },
    }),
    gauge([5, 5], {
      title: 'How much of the limit is unreclaimable memory?', unit: 'percentunit',
      description: 'Unreclaimable memory (plus swap in use) over the effective limit. Siblings below the same limit are included, page cache is not. MemscopeNearLimit fires at 90 %.',
      queries: { held: `1 - ${of('memory_headroom_bytes')} / ${of('memory_effective_limit_bytes')}` },
      field: { min: 0, max: 1, thresholds: steps('green', [0.8, 'orange'], [0.9, 'red']) },
    }),
    stat([3, 5], {
      title: 'How many bytes are left?', unit: 'bytes',
      description: 'The headroom below the effective limit: the limit minus the unreclaimable memory below it. Siblings below the same limit can also use it up.',
      queries: { headroom: of('memory_headroom_bytes') }, field: { color: colour('blue') }, graph: true,
    }),
    lines([17, 9], {
      title: 'How close is unreclaimable memory to the limit?', unit: 'bytes', legend: 'right',
      description: 'When unreclaimable memory (with swap) reaches the limit, the kernel kills. Usage can be at the limit for days without harm, because the difference is page cache. The nearest limit is the one with the least headroom. If memory grows, another limit may be reached first. The legend names the owners of the limits: the job itself, an ancestor of its cgroup, or the host. The verdict is based on the floor. Marks: deaths and changes of the verdict.',
      queries: {
        unreclaimable: of('memory_unreclaimable_bytes'), 'usage with cache': of('memory_usage_bytes'), 'swap in use': of('memory_swap_bytes'),
        'nearest limit: {{owner}}': `${of('memory_effective_limit_bytes')} * on (instance, job, target) group_left (owner) (${of('memory_limit_owner')} == 1)`,
        floor: of('floor_bytes', JOB, 'scope="target"'),
        'reached first: {{owner}}': `${of('oom_eta_limit_bytes')} * on (instance, job, target) group_left (owner) (${of('oom_eta_limit_owner')} == 1)`,
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
        description: 'The precursors that are active now. docs/precursors.md explains each of them and what to do.',
        queries: { '{{precursor}}': `${of('oom_precursor')} == 1` }, field: { noValue: 'nothing', color: colour('red') }, text: BigValueTextMode.Name,
      }),
      stat([7, 3], {
        title: 'Which processes died in the time shown?', unit: 'none',
        description: 'Processes that did not just exit, by cause. Teardown is not counted. `memscope report` prints the report of the last death, `memscope web` shows the recorded run (docs/web.md). The runbook is docs/alerts.md.',
        queries: { '{{cause}}': `round(sum by (cause) (increase(${of('deaths_total', JOB, 'sender!="tree"')}[$__range]))) > 0` },
        field: { noValue: 'none', decimals: 0, color: colour('red') }, text: BigValueTextMode.ValueAndName,
      }),
      stat([3, 3], {
        title: 'Does the job still exist?', unit: 'none',
        description: 'Whether the watched cgroup, process or command still exists. After its end the last values are shown for the time of --linger.',
        queries: { target: of('target_up') }, field: { mappings: words([['0', 'ended', 'orange'], ['1', 'watched', 'green']]) }, text: BigValueTextMode.Value,
      }),
      stat([4, 3], {
        title: 'How old are the values on this page?', unit: 's',
        description: 'Time since the last tick of the watcher, on the clock of Prometheus. After more than a minute the watcher is stuck, and this page shows old values.',
        queries: { 'age of the last tick': `time() - ${of('last_tick_timestamp_seconds', WATCHER)}` },
        field: { decimals: 0, thresholds: steps('green', [30, 'orange'], [60, 'red']) },
      }),
    ] },
    timeline([24, 4], {
      title: 'What were the verdicts of the job and its roles?', unit: 'none',
      description: 'The verdict of the job over time, and the verdict of each role. If the ranks of a role differ, the worst verdict is shown.',
      queries: { job: verdictCode(`${JOB},scope="target"`, 'target'), '{{role}}': verdictCode(`${JOB},scope="role",role=~"$role",rank=~"$rank"`, 'role') },
      field: { mappings: CODES }, overrides: [byName('job', [{ id: 'displayName', value: 'the job' }])],
    }),
  ],
};
