// What one asks after the first screen, one row for each question.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { byQuery, colour, lines, stat, steps, table, timeline, words } from '../panels.js';
import { CODES, verdictCode } from '../verdict.js';
import { JOB, of, rate, ROLES, WATCHER } from './select.js';

export const roles: Row = {
  title: 'Which roles and ranks?',
  panels: [
    lines([12, 8], {
      title: 'Which role holds the memory, each page once?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'Proportional set size by role and rank: shared pages are divided among those who share them, so the areas add up.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('role_pss_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'Which role holds the memory?', unit: 'bytes', legend: 'right',
      description: 'Resident memory by role, rank and kind. Shared pages stand in every process that has them: these lines do not add up to the usage.',
      queries: { '{{role}} {{rank}} {{kind}}': `sum by (role, rank, kind) (${of('role_resident_bytes', ROLES)})` }, field: { min: 0 },
    }),
    timeline([24, 7], {
      title: 'Which ranks leak?', unit: 'none',
      description: 'The verdict of each role and rank. One rank that leaks while the others are stable has data or code of its own.',
      queries: { '{{role}} {{rank}}': verdictCode(`${ROLES},scope="role"`, 'role, rank') }, field: { mappings: CODES },
    }),
    lines([8, 7], {
      title: 'Which role\'s floor rises?', unit: 'Bps',
      description: 'How fast the floor under the anonymous memory of each role rises. Flat at zero is what a healthy role looks like after its warm-up.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('floor_slope_bytes_per_second', ROLES, 'scope="role"')})` },
    }),
    lines([8, 7], {
      title: 'How many processes and threads of each role are alive?', unit: 'none',
      description: 'Full lines: processes. Dashed: threads. A role that loses a process and does not get it back has lost a worker.',
      queries: { '{{role}}': `sum by (role) (${of('processes', ROLES)})`, '{{role}} threads': `sum by (role) (${of('threads', ROLES)})` },
      field: { min: 0, decimals: 0 }, overrides: [byQuery('B', [{ id: 'custom.lineStyle', value: { fill: 'dash', dash: [4, 6] } }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([8, 7], {
      title: 'How fast do processes come and go?', unit: 'cps',
      description: 'Starts (up) and exits (down) per second. A burst of exits without starts is a job that ends, or dies.',
      queries: { '{{role}} starts': `sum by (role) (${rate('process_starts_total', ROLES)})`, '{{role}} exits': `-sum by (role) (${rate('process_exits_total', ROLES)})` },
    }),
  ],
};

export const kinds: Row = {
  title: 'What kind of memory?',
  panels: [
    lines([12, 9], {
      title: 'What is the usage made of?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'The cgroup\'s usage by kind, each page once, against its own limit (absent if it has none) and the nearest limit that can kill it. File is page cache: the kernel takes it back when needed.',
      queries: { '{{kind}}': `sum by (kind) (${of('memory_bytes')})`, 'own limit': of('memory_limit_bytes'), 'nearest limit': of('memory_effective_limit_bytes') },
      field: { min: 0 },
      overrides: [
        byQuery('B', [{ id: 'custom.stacking', value: { mode: 'none', group: 'B' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } }, { id: 'color', value: colour('orange') }]),
        byQuery('C', [{ id: 'custom.stacking', value: { mode: 'none', group: 'C' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineWidth', value: 2 }, { id: 'color', value: colour('red') }]),
      ],
    }),
    lines([12, 9], {
      title: 'How much address space is mapped and not unmapped?', unit: 'bytes', legend: 'right',
      description: 'Mapped minus unmapped bytes by role: the virtual size of the living. Reservations are not memory: compare its growth with that of the resident memory.',
      queries: { '{{role}}': `sum by (role) (${of('mapped_bytes_total', ROLES)}) - sum by (role) (${of('unmapped_bytes_total', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

export const faults: Row = {
  title: 'Does the kernel struggle?',
  panels: [
    timeline([12, 8], {
      title: 'What announces an OOM kill?', unit: 'none',
      description: 'The eight precursors over time. Each clears a minute after its last reason.',
      queries: { '{{precursor}}': of('oom_precursor') }, field: { mappings: words([['0', ' ', 'transparent'], ['1', 'stands', 'red']]) },
    }),
    lines([12, 8], {
      title: 'Who touches new memory, who waits for storage?', unit: 'cps',
      description: 'Page faults per second. Minor ones (up) touch new or shared memory; major ones (down) waited for storage: a dataset that does not fit, or swap.',
      queries: { '{{role}} minor': `sum by (role) (${rate('page_faults_total', ROLES, 'type="minor"')})`, '{{role}} major': `-sum by (role) (${rate('page_faults_total', ROLES, 'type="major"')})` },
    }),
    lines([8, 7], {
      title: 'What did the kernel do at the limits?', unit: 'cps',
      description: 'Events of the cgroup and all below it. max: the limit was hit and something was evicted. high: it was made to sleep. oom_kill: a process died.',
      queries: { '{{event}}': `sum by (event) (${rate('memory_events_total')})` }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How much time is lost waiting for memory?', unit: 'percentunit',
      description: 'Pressure stall of this cgroup: the share of time in which some or all (full) of its tasks waited for memory. Only where the cgroup has PSI (v2).',
      queries: { '{{kind}}': rate('pressure_stalled_seconds_total') }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How much time do threads lose freeing memory?', unit: 'percentunit',
      description: 'Time in reclaim, added up over threads, per second: above 1 more than one thread stands still.',
      queries: { 'in reclaim': rate('reclaim_stall_seconds_total') }, field: { min: 0 },
    }),
    lines([12, 7], {
      title: 'How full is /dev/shm?', unit: 'bytes',
      description: 'The fullest /dev/shm that the job\'s processes see. Batches on their way from workers to the trainer are here.',
      queries: { used: of('shm_used_bytes'), size: of('shm_size_bytes') }, field: { min: 0 },
      overrides: [byQuery('B', [{ id: 'color', value: colour('red') }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([12, 7], {
      title: 'Which calls were refused memory?', unit: 'none',
      description: 'Calls that failed for want of memory or space since the job began, by call and reason.',
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
      description: 'Copies that forked processes made of pages they shared with their parent. It grows in no process: that is copy-on-write un-sharing (docs/sharing.md).',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('cow_unshared_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much of a role is shared?', unit: 'percentunit',
      description: 'One minus proportional over resident memory: near 0 nothing is shared, near 1 nearly all.',
      queries: { '{{role}}': `1 - sum by (role) (${of('role_pss_bytes', ROLES)}) / sum by (role) (${of('role_resident_bytes', ROLES)})` },
    }),
    lines([6, 7], {
      title: 'How old are the proportional numbers?', unit: 's',
      description: 'Reading shared pages is slow, so it is done in turns: this is the age of the oldest number.',
      queries: { '{{role}} {{rank}}': `max by (role, rank) (${of('role_pss_age_seconds', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

const acted = (outcome: string) => `round(sum by (event, outcome) (increase(${of('actions_total', WATCHER, outcome)}[$__range])))`;

export const deaths: Row = {
  title: 'Who died, and why?',
  panels: [
    table([10, 7], {
      title: 'Which deaths were there, and who sent them?', unit: 'none',
      description: 'Since the job began. Sender tree is teardown; outside and kernel are news; none is nobody or unknown. docs/deaths.md has the words.',
      queries: { deaths: `sum by (cause, sender) (${of('deaths_total')})` },
      columns: [{ label: 'cause', title: 'cause' }, { label: 'sender', title: 'sender' }, { title: 'deaths' }], sort: { by: 'deaths', descending: true },
    }),
    lines([7, 7], {
      title: 'What was full when the kernel killed?', unit: 'none',
      description: 'OOM kills since the watcher began, by what was full: a cgroup on the way up, the host, or a node.',
      queries: { '{{constraint}}': `sum by (constraint) (${of('oom_kills_total')})` }, field: { min: 0, decimals: 0 },
    }),
    { w: 7, block: [
      stat([7, 4], {
        title: 'How long ago was the last death?', unit: 's',
        description: 'By cause; teardown is among them. Nothing is shown while nobody has died.',
        queries: { '{{cause}}': `time() - ${of('last_death_timestamp_seconds')}` }, field: { noValue: 'nobody died', color: colour('text') },
      }),
      stat([7, 3], {
        title: 'How many OOM kills since it began?', unit: 'none',
        description: 'Processes of the job that the kernel killed for memory, since its cgroup was made.',
        queries: { 'OOM kills': of('memory_events_total', JOB, 'event="oom_kill"') }, field: { decimals: 0, thresholds: steps('green', [1, 'red']) },
      }),
    ] },
    stat([24, 3], {
      title: 'Did memscope act?', unit: 'none',
      description: 'Commands of --on-precursor and --on-death in the time shown, by what became of them; of all jobs that this memscope watches (docs/acting.md). No command is given, or none was due: no.',
      queries: { '{{event}}: {{outcome}}': `${acted('outcome="ok"')} > 0`, '{{event}} failed: {{outcome}}': `${acted('outcome!="ok"')} > 0` },
      field: { noValue: 'no', decimals: 0, color: colour('green') }, overrides: [byQuery('B', [{ id: 'color', value: colour('orange') }])],
      text: BigValueTextMode.ValueAndName,
    }),
  ],
};
