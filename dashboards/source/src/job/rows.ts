// The rows below the first screen, one for each question.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { byQuery, colour, lines, stat, steps, table, timeline, words } from '../panels.js';
import { CODES, verdictCode } from '../verdict.js';
import { JOB, of, rate, ROLES, WATCHER } from './select.js';

export const roles: Row = {
  title: 'Which roles and ranks use memory?',
  panels: [
    lines([12, 8], {
      title: 'How large is the PSS of each role?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'Proportional set size by role and rank: a shared page is divided among the processes that map it, so the areas add up.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('role_pss_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'How large is the resident set of each role?', unit: 'bytes', legend: 'right',
      description: 'Resident memory by role, rank and kind. A shared page counts in every process that maps it, so these lines do not add up to the usage.',
      queries: { '{{role}} {{rank}} {{kind}}': `sum by (role, rank, kind) (${of('role_resident_bytes', ROLES)})` }, field: { min: 0 },
    }),
    timeline([24, 7], {
      title: 'Which ranks leak?', unit: 'none',
      description: 'The verdict of each role and rank. If one rank leaks while the others are stable, look for data or code that only this rank has.',
      queries: { '{{role}} {{rank}}': verdictCode(`${ROLES},scope="role"`, 'role, rank') }, field: { mappings: CODES },
    }),
    lines([8, 7], {
      title: 'Which role\'s floor rises?', unit: 'Bps',
      description: 'The slope of the floor of each role\'s anonymous memory. It is zero for a healthy role after the warm-up.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('floor_slope_bytes_per_second', ROLES, 'scope="role"')})` },
    }),
    lines([8, 7], {
      title: 'How many processes and threads of each role are alive?', unit: 'none',
      description: 'Solid lines: processes. Dashed lines: threads. If the number of processes falls and does not rise again, the role has lost a worker.',
      queries: { '{{role}}': `sum by (role) (${of('processes', ROLES)})`, '{{role}} threads': `sum by (role) (${of('threads', ROLES)})` },
      field: { min: 0, decimals: 0 }, overrides: [byQuery('B', [{ id: 'custom.lineStyle', value: { fill: 'dash', dash: [4, 6] } }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([8, 7], {
      title: 'How fast do processes come and go?', unit: 'cps',
      description: 'Starts (up) and exits (down) per second. Many exits without starts mean that the job ends or dies.',
      queries: { '{{role}} starts': `sum by (role) (${rate('process_starts_total', ROLES)})`, '{{role}} exits': `-sum by (role) (${rate('process_exits_total', ROLES)})` },
    }),
  ],
};

export const kinds: Row = {
  title: 'What kind of memory does the job use?',
  panels: [
    lines([12, 9], {
      title: 'What is the usage made of?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'The usage of the cgroup by kind, each page once, with the limit of the cgroup (absent if it has none) and the effective limit. Kind file is page cache, which the kernel reclaims when needed.',
      queries: { '{{kind}}': `sum by (kind) (${of('memory_bytes')})`, 'own limit': of('memory_limit_bytes'), 'nearest limit': of('memory_effective_limit_bytes') },
      field: { min: 0 },
      overrides: [
        byQuery('B', [{ id: 'custom.stacking', value: { mode: 'none', group: 'B' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } }, { id: 'color', value: colour('orange') }]),
        byQuery('C', [{ id: 'custom.stacking', value: { mode: 'none', group: 'C' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineWidth', value: 2 }, { id: 'color', value: colour('red') }]),
      ],
    }),
    lines([12, 9], {
      title: 'How much address space is mapped and not unmapped?', unit: 'bytes', legend: 'right',
      description: 'Mapped minus unmapped bytes by role, which is the virtual size of the running processes. A reservation is not memory in use, so compare the growth with that of the resident memory.',
      queries: { '{{role}}': `sum by (role) (${of('mapped_bytes_total', ROLES)}) - sum by (role) (${of('unmapped_bytes_total', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

export const faults: Row = {
  title: 'Is the job short of memory?',
  panels: [
    timeline([12, 8], {
      title: 'When were precursors of an OOM kill active?', unit: 'none',
      description: 'The eight precursors over time. A precursor ends a minute after its condition was last true.',
      queries: { '{{precursor}}': of('oom_precursor') }, field: { mappings: words([['0', ' ', 'transparent'], ['1', 'active', 'red']]) },
    }),
    lines([12, 8], {
      title: 'How many page faults does each role have?', unit: 'cps',
      description: 'Page faults per second. Minor faults (up): a process touches new or shared memory. Major faults (down): a process waits for storage, because the dataset does not fit into memory or because of swap.',
      queries: { '{{role}} minor': `sum by (role) (${rate('page_faults_total', ROLES, 'type="minor"')})`, '{{role}} major': `-sum by (role) (${rate('page_faults_total', ROLES, 'type="major"')})` },
    }),
    lines([8, 7], {
      title: 'What did the kernel do at the limits?', unit: 'cps',
      description: 'Events of the cgroup and all cgroups below it, per second. max: the limit was reached, and pages were evicted. high: the job was made to sleep. oom_kill: a process was killed.',
      queries: { '{{event}}': `sum by (event) (${rate('memory_events_total')})` }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How much time is lost waiting for memory?', unit: 'percentunit',
      description: 'Pressure stall of this cgroup: the part of the time in which some or all (full) of its tasks waited for memory. Only if the cgroup has PSI (v2).',
      queries: { '{{kind}}': rate('pressure_stalled_seconds_total') }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How much time do threads spend in reclaim?', unit: 'percentunit',
      description: 'Time in reclaim per second, summed over all threads. Above 1, more than one thread is stalled on average.',
      queries: { 'in reclaim': rate('reclaim_stall_seconds_total') }, field: { min: 0 },
    }),
    lines([12, 7], {
      title: 'How full is /dev/shm?', unit: 'bytes',
      description: 'The fullest /dev/shm of the job\'s processes. Workers pass batches to the trainer through it.',
      queries: { used: of('shm_used_bytes'), size: of('shm_size_bytes') }, field: { min: 0 },
      overrides: [byQuery('B', [{ id: 'color', value: colour('red') }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([12, 7], {
      title: 'Which calls were refused memory?', unit: 'none',
      description: 'Calls that failed because of too little memory or space, since the job began, by call and reason.',
      queries: { '{{role}} {{call}} {{reason}}': `sum by (role, call, reason) (${of('memory_failures_total', JOB, 'role=~"$role"')})` }, field: { min: 0, decimals: 0 },
    }),
  ],
};

export const heap: Row = {
  title: 'What is in the heap?',
  panels: [
    lines([12, 7], {
      title: 'How much of the heap is live, and how much do allocators keep free?', unit: 'bytes', stacked: true,
      description: 'The parts of the anonymous memory of the largest process of each role, by its last heap census. Memory that is free inside malloc or Python\'s allocator is not a leak of the job\'s objects (docs/verdict.md).',
      queries: { '{{role}} {{rank}} {{part}}': `sum by (role, rank, part) (${of('heap_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much would malloc_trim(0) give back?', unit: 'bytes',
      description: 'Whole free pages inside glibc\'s malloc at the last heap census.',
      queries: { '{{role}} {{rank}}': `max by (role, rank) (${of('heap_trimmable_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How old is the heap census?', unit: 's',
      description: 'Censuses are taken when a warm-up ends, when a leak is found, when a precursor becomes active, and on request.',
      queries: { '{{role}} {{rank}}': `max by (role, rank) (${of('heap_age_seconds', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

export const sharing: Row = {
  title: 'Do workers still share memory?',
  panels: [
    lines([12, 7], {
      title: 'How much have workers copied?', unit: 'bytes', stacked: true,
      description: 'Copies that forked processes have made of pages that they shared with their parent (copy-on-write un-sharing, docs/sharing.md). The cgroup grows, although no process allocates.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('cow_unshared_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much of a role is shared?', unit: 'percentunit',
      description: '1 - PSS / resident set. Near 0: the role shares hardly any memory. Near 1: it shares nearly all.',
      queries: { '{{role}}': `1 - sum by (role) (${of('role_pss_bytes', ROLES)}) / sum by (role) (${of('role_resident_bytes', ROLES)})` },
    }),
    lines([6, 7], {
      title: 'How old are the PSS values?', unit: 's',
      description: 'Reading the PSS of a process is slow, so the watcher reads a few processes at a time. This is the age of the oldest value.',
      queries: { '{{role}} {{rank}}': `max by (role, rank) (${of('role_pss_age_seconds', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

const acted = (outcome: string) => `round(sum by (event, outcome) (increase(${of('actions_total', WATCHER, outcome)}[$__range])))`;

export const deaths: Row = {
  title: 'Which processes died, and why?',
  panels: [
    table([10, 7], {
      title: 'Which deaths were there, and where did the signals come from?', unit: 'none',
      description: 'Deaths since the job began. Sender tree: a process of the job (teardown). outside: a process outside the job. kernel: the kernel. none: no sender, or an unknown one. docs/deaths.md explains the causes.',
      queries: { deaths: `sum by (cause, sender) (${of('deaths_total')})` },
      columns: [{ label: 'cause', title: 'cause' }, { label: 'sender', title: 'sender' }, { title: 'deaths' }], sort: { by: 'deaths', descending: true },
    }),
    lines([7, 7], {
      title: 'Which limit was exhausted at OOM kills?', unit: 'none',
      description: 'OOM kills since the watcher began, by constraint: the limit of the cgroup or of an ancestor, the memory of the host, or that of a NUMA node.',
      queries: { '{{constraint}}': `sum by (constraint) (${of('oom_kills_total')})` }, field: { min: 0, decimals: 0 },
    }),
    { w: 7, block: [
      stat([7, 4], {
        title: 'How long ago was the last death?', unit: 's',
        description: 'The time since the last death of each cause, teardown included.',
        queries: { '{{cause}}': `time() - ${of('last_death_timestamp_seconds')}` }, field: { noValue: 'no death', color: colour('text') },
      }),
      stat([7, 3], {
        title: 'How many OOM kills since the job began?', unit: 'none',
        description: 'Processes of the job that the OOM killer has killed since the cgroup was created.',
        queries: { 'OOM kills': of('memory_events_total', JOB, 'event="oom_kill"') }, field: { decimals: 0, thresholds: steps('green', [1, 'red']) },
      }),
    ] },
    stat([24, 3], {
      title: 'Which actions did memscope run?', unit: 'none',
      description: 'Commands of --on-precursor and --on-death in the time shown, by outcome, for all jobs that this watcher watches (docs/acting.md). none: there is no command, or no event for it.',
      queries: { '{{event}}: {{outcome}}': `${acted('outcome="ok"')} > 0`, '{{event}} failed: {{outcome}}': `${acted('outcome!="ok"')} > 0` },
      field: { noValue: 'none', decimals: 0, color: colour('green') }, overrides: [byQuery('B', [{ id: 'color', value: colour('orange') }])],
      text: BigValueTextMode.ValueAndName,
    }),
  ],
};
