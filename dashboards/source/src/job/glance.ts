// The first screen: is it a leak, when does it die, who holds it.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { bars, byName, byQuery, colour, gauge, lines, stat, steps, timeline, words } from '../panels.js';
import { CODES, verdictCode } from '../verdict.js';
import { JOB, of, WATCHER } from './select.js';

export const glance: Row = {
  panels: [
    stat([4, 5], {
      title: 'Is it a leak?', unit: 'none',
      description: 'The verdict of the whole job. Warming up: it grows since its start, and nobody can tell yet. Leaking: the floor keeps rising after the warm-up. `memscope status` gives the reason in a sentence.',
      queries: { verdict: verdictCode(`${JOB},scope="target"`, 'target') }, field: { mappings: CODES }, text: BigValueTextMode.Value,
    }),
    stat([5, 5], {
      title: 'When does it run out of memory?', unit: 's',
      description: 'Time until the first limit is reached if all goes on as it does, and whose limit that is: the job\'s own, that of a cgroup above it, or the memory of the host. Basis leak: believe it. Basis warmup: only if the warm-up never ended. Basis trend: the last minute goes on like this; there was no time for a verdict.',
      queries: { '{{owner}}, basis {{basis}}': `${of('oom_eta_seconds', JOB, 'scope="target"')} * on (instance, job, target) group_left (owner) (${of('oom_eta_limit_owner')} == 1)` },
      field: { noValue: 'no end in sight', thresholds: steps('red', [600, 'orange'], [3600, 'green']) },
      text: BigValueTextMode.ValueAndName,
    }),
    bars([7, 5], {
      title: 'Who holds it?', unit: 'bytes',
      description: 'Memory by role, each page divided among those who share it, so that the bars add up. Some seconds slower than the rest.',
      queries: { '{{role}}': `sort_desc(sum by (role) (${of('role_pss_bytes')}))` }, field: { min: 0, color: colour('blue') },
    }),
    gauge([5, 5], {
      title: 'How much of the limit is held for good?', unit: 'percentunit',
      description: 'Memory that cannot be reclaimed (plus swap in use) over the nearest limit that can kill the job, siblings below it included. Page cache is not in it. MemscopeNearLimit fires at 90 %.',
      queries: { held: `1 - ${of('memory_headroom_bytes')} / ${of('memory_effective_limit_bytes')}` },
      field: { min: 0, max: 1, thresholds: steps('green', [0.8, 'orange'], [0.9, 'red']) },
    }),
    stat([3, 5], {
      title: 'How many bytes are left?', unit: 'bytes',
      description: 'The limit with the least room minus what is held for good below it. Siblings below the same limit can use this up, too.',
      queries: { headroom: of('memory_headroom_bytes') }, field: { color: colour('blue') }, graph: true,
    }),
    lines([17, 9], {
      title: 'What decides: unreclaimable memory against the limit', unit: 'bytes', legend: 'right',
      description: 'When the unreclaimable line (with swap) meets the limit, the kernel kills. Usage may lie at the limit for days without harm: the difference is cache. The nearest limit is the one with the least room below it; where memory grows, the limit that is reached first may be another. The legend says whose they are: the job\'s own, that of a cgroup above it, or the memory of the host. The floor is what the verdict looks at. Marks: deaths and changes of the verdict.',
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
        title: 'What announces a kill?', unit: 'none',
        description: 'The precursors that stand now: docs/precursors.md says what each means and what helps.',
        queries: { '{{precursor}}': `${of('oom_precursor')} == 1` }, field: { noValue: 'nothing', color: colour('red') }, text: BigValueTextMode.Name,
      }),
      stat([7, 3], {
        title: 'Who died in the time shown?', unit: 'none',
        description: 'Processes that did not just exit, by cause; teardown is left out. `memscope report` tells the last one whole.',
        queries: { '{{cause}}': `round(sum by (cause) (increase(${of('deaths_total', JOB, 'sender!="tree"')}[$__range]))) > 0` },
        field: { noValue: 'nobody', decimals: 0, color: colour('red') }, text: BigValueTextMode.ValueAndName,
      }),
      stat([3, 3], {
        title: 'Is the job there?', unit: 'none',
        description: 'Whether the watched cgroup, process or command still exists. After its end the last values stay for a while.',
        queries: { target: of('target_up') }, field: { mappings: words([['0', 'ended', 'orange'], ['1', 'watched', 'green']]) }, text: BigValueTextMode.Value,
      }),
      stat([4, 3], {
        title: 'How old is what is shown here?', unit: 's',
        description: 'Time since the watcher\'s last tick, on the clock of Prometheus. Above a minute the watcher is stuck, and so is this page.',
        queries: { 'age of the last tick': `time() - ${of('last_tick_timestamp_seconds', WATCHER)}` },
        field: { decimals: 0, thresholds: steps('green', [30, 'orange'], [60, 'red']) },
      }),
    ] },
    timeline([24, 4], {
      title: 'What was the verdict, and when?', unit: 'none',
      description: 'The verdict of the job over time, and of each role: of its ranks the worst.',
      queries: { job: verdictCode(`${JOB},scope="target"`, 'target'), '{{role}}': verdictCode(`${JOB},scope="role",role=~"$role",rank=~"$rank"`, 'role') },
      field: { mappings: CODES }, overrides: [byName('job', [{ id: 'displayName', value: 'the job' }])],
    }),
  ],
};
