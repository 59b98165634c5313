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
      description: 'Proportional set size by role and rank. The size of a shared page is divided by the number of processes that map it, so the areas add up.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('role_pss_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'How large is the resident set of each role?', unit: 'bytes', legend: 'right',
      description: 'The resident set by role, rank and kind. A shared page counts in every process that maps it, so these lines do not add up to the usage.',
      queries: { '{{role}} {{rank}} {{kind}}': `sum by (role, rank, kind) (${of('role_resident_bytes', ROLES)})` }, field: { min: 0 },
    }),
    timeline([24, 7], {
      title: 'Which ranks leak?', unit: 'none',
      description: 'The verdict on each role and rank. If one rank leaks and the others are stable, look for data or code that only this rank has.',
      queries: { '{{role}} {{rank}}': verdictCode(`${ROLES},scope="role"`, 'role, rank') }, field: { mappings: CODES },
    }),
    lines([8, 7], {
      title: 'Which role\'s floor rises?', unit: 'Bps',
      description: 'The slope of the floor of each role\'s own memory. For a healthy role it is close to zero after the warm-up.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('floor_slope_bytes_per_second', ROLES, 'scope="role"')})` },
    }),
    lines([8, 7], {
      title: 'How many processes and threads of each role are alive?', unit: 'none',
      description: 'Solid lines: processes. Dashed lines: threads. If the number of processes falls and does not rise again, the role has lost a process.',
      queries: { '{{role}}': `sum by (role) (${of('processes', ROLES)})`, '{{role}} threads': `sum by (role) (${of('threads', ROLES)})` },
      field: { min: 0, decimals: 0 }, overrides: [byQuery('B', [{ id: 'custom.lineStyle', value: { fill: 'dash', dash: [4, 6] } }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([8, 7], {
      title: 'How often do processes start and exit?', unit: 'cps',
      description: 'Starts (above zero) and exits (below zero) per second. Processes that move into or out of the cgroup count, too. If there are many exits and no starts, the job ends or its processes die.',
      queries: { '{{role}} starts': `sum by (role) (${rate('process_starts_total', ROLES)})`, '{{role}} exits': `-sum by (role) (${rate('process_exits_total', ROLES)})` },
    }),
  ],
};

export const kinds: Row = {
  title: 'What kind of memory does the job use?',
  panels: [
    lines([12, 9], {
      title: 'What is the usage made of?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'The usage of the cgroup by kind. Each page counts once. Kind file is page cache, which the kernel reclaims when it needs memory. The lines are the limit of the cgroup itself (absent if it has none) and the effective limit.',
      queries: { '{{kind}}': `sum by (kind) (${of('memory_bytes')})`, 'own limit': of('memory_limit_bytes'), 'effective limit': of('memory_effective_limit_bytes') },
      field: { min: 0 },
      overrides: [
        byQuery('B', [{ id: 'custom.stacking', value: { mode: 'none', group: 'B' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineStyle', value: { fill: 'dash', dash: [10, 10] } }, { id: 'color', value: colour('orange') }]),
        byQuery('C', [{ id: 'custom.stacking', value: { mode: 'none', group: 'C' } }, { id: 'custom.fillOpacity', value: 0 }, { id: 'custom.lineWidth', value: 2 }, { id: 'color', value: colour('red') }]),
      ],
    }),
    lines([12, 9], {
      title: 'How much address space is mapped?', unit: 'bytes', legend: 'right',
      description: 'Mapped minus unmapped bytes by role. This is the virtual size of the running processes. A mapping uses no memory until a process touches its pages, so compare its growth with the growth of the resident set.',
      queries: { '{{role}}': `sum by (role) (${of('mapped_bytes_total', ROLES)}) - sum by (role) (${of('unmapped_bytes_total', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

export const faults: Row = {
  title: 'Is the job short of memory?',
  panels: [
    timeline([12, 8], {
      title: 'When were precursors of an OOM kill active?', unit: 'none',
      description: 'The eight precursors over time. By default a precursor ends 60 s after its condition was last true. A death can end a precursor earlier.',
      queries: { '{{precursor}}': of('oom_precursor') }, field: { mappings: words([['0', ' ', 'transparent'], ['1', 'active', 'red']]) },
    }),
    lines([12, 8], {
      title: 'How many page faults does each role have?', unit: 'cps',
      description: 'Page faults per second. Minor faults (above zero) need no read from storage. They occur when a process touches new memory, for example. Major faults (below zero) wait for storage. They are frequent if the dataset does not fit into the page cache, or if memory was swapped out.',
      queries: { '{{role}} minor': `sum by (role) (${rate('page_faults_total', ROLES, 'type="minor"')})`, '{{role}} major': `-sum by (role) (${rate('page_faults_total', ROLES, 'type="major"')})` },
    }),
    lines([8, 7], {
      title: 'What did the kernel do at the limits?', unit: 'cps',
      description: 'Memory events of the cgroup and of all cgroups below it, per second. max: the usage reached the limit, and the kernel had to reclaim pages. high: the usage exceeded memory.high, and the kernel throttled the job. oom: reclaim at the limit was not enough. oom_kill: the OOM killer killed a process.',
      queries: { '{{event}}': `sum by (event) (${rate('memory_events_total')})` }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How much time is lost waiting for memory?', unit: 'percentunit',
      description: 'Pressure stall information (PSI) of the cgroup. some: the share of the time in which at least one task waited for memory. full: the share of the time in which all tasks waited. The panel is empty if the cgroup has no PSI (cgroup v1).',
      queries: { '{{kind}}': rate('pressure_stalled_seconds_total') }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How much time do threads spend in reclaim?', unit: 'percentunit',
      description: 'The share of the time in which threads of the job waited because they had to free memory before they got any, summed over all threads. Above 100 %, more than one thread waited on average.',
      queries: { 'in reclaim': rate('reclaim_stall_seconds_total') }, field: { min: 0 },
    }),
    lines([12, 7], {
      title: 'How full is /dev/shm?', unit: 'bytes',
      description: 'The used bytes and the size of the fullest /dev/shm that the processes of the job see. DataLoader workers pass batches to the trainer through /dev/shm.',
      queries: { used: of('shm_used_bytes'), size: of('shm_size_bytes') }, field: { min: 0 },
      overrides: [byQuery('B', [{ id: 'color', value: colour('red') }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([12, 7], {
      title: 'Which calls were refused memory?', unit: 'none',
      description: 'The number of calls that failed because there was too little memory or space, by role, call and reason, since memscope began to watch the job.',
      queries: { '{{role}} {{call}} {{reason}}': `sum by (role, call, reason) (${of('memory_failures_total', JOB, 'role=~"$role"')})` }, field: { min: 0, decimals: 0 },
    }),
  ],
};

export const heap: Row = {
  title: 'What is in the heap?',
  panels: [
    lines([12, 7], {
      title: 'How much of the heap is live, and how much is free?', unit: 'bytes', stacked: true,
      description: 'The parts of the anonymous memory of the largest process of each role, from its last heap census. malloc_free and python_free are memory that the program has freed and that its allocator still holds. Such memory is not a leak of the job\'s objects (docs/verdict.md).',
      queries: { '{{role}} {{rank}} {{part}}': `sum by (role, rank, part) (${of('heap_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much would malloc_trim(0) return to the kernel?', unit: 'bytes',
      description: 'Whole resident pages that were free inside glibc\'s malloc at the last heap census. There is no value for other allocators.',
      queries: { '{{role}} {{rank}}': `max by (role, rank) (${of('heap_trimmable_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How old is the heap census?', unit: 's',
      description: 'The time since the last heap census. memscope takes a census when a warm-up ends, when a leak is found and every 15 minutes while it lasts, when a precursor becomes active, and when a user requests one. If memscope watches only one job, it also takes censuses when watching begins.',
      queries: { '{{role}} {{rank}}': `max by (role, rank) (${of('heap_age_seconds', ROLES)})` }, field: { min: 0 },
    }),
  ],
};

export const sharing: Row = {
  title: 'Do workers still share memory?',
  panels: [
    lines([12, 7], {
      title: 'How much have workers copied?', unit: 'bytes', stacked: true,
      description: 'Copies that the living forked processes of a role have made of pages that they shared with their parent (copy-on-write un-sharing, docs/sharing.md). The cgroup grows by these copies, although no process allocates.',
      queries: { '{{role}} {{rank}}': `sum by (role, rank) (${of('cow_unshared_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much of a role is shared?', unit: 'percentunit',
      description: '1 - PSS / resident set. Near 0 %: the processes of the role share almost no memory. Memory that two processes share counts as 50 %, and memory that ten processes share counts as 90 %.',
      queries: { '{{role}}': `1 - sum by (role) (${of('role_pss_bytes', ROLES)}) / sum by (role) (${of('role_resident_bytes', ROLES)})` },
    }),
    lines([6, 7], {
      title: 'How old are the PSS values?', unit: 's',
      description: 'The age of the oldest PSS reading of a role. To read the PSS of a process is slow, so memscope reads one process at a time.',
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
      description: 'Deaths since memscope began to watch the job, by cause and by sender of the signal. tree: a process of the job (teardown). outside: a process outside the job. kernel: the kernel. none: there was no sender, or it is unknown. docs/deaths.md explains the causes.',
      queries: { deaths: `sum by (cause, sender) (${of('deaths_total')})` },
      columns: [{ label: 'cause', title: 'cause' }, { label: 'sender', title: 'sender' }, { title: 'deaths' }], sort: { by: 'deaths', descending: true },
    }),
    lines([7, 7], {
      title: 'Which limit was exhausted at OOM kills?', unit: 'none',
      description: 'OOM kills since memscope began to watch the job, by constraint. cgroup: the limit of a cgroup. host: the memory of the host. cpuset, mempolicy: the memory of NUMA nodes. unknown: the constraint could not be determined.',
      queries: { '{{constraint}}': `sum by (constraint) (${of('oom_kills_total')})` }, field: { min: 0, decimals: 0 },
    }),
    { w: 7, block: [
      stat([7, 4], {
        title: 'How long ago was the last death?', unit: 's',
        description: 'The time since the last death, by cause. Teardown is included.',
        queries: { '{{cause}}': `time() - ${of('last_death_timestamp_seconds')}` }, field: { noValue: 'no death', color: colour('text') },
      }),
      stat([7, 3], {
        title: 'How many OOM kills were there in all?', unit: 'none',
        description: 'The number of processes that the OOM killer has killed in the cgroup since the cgroup was created.',
        queries: { 'OOM kills': of('memory_events_total', JOB, 'event="oom_kill"') }, field: { decimals: 0, thresholds: steps('green', [1, 'red']) },
      }),
    ] },
    stat([24, 3], {
      title: 'Which actions did memscope run?', unit: 'none',
      description: 'The number of commands of --on-precursor and --on-death in the time shown, by outcome, for all jobs of this watcher (docs/acting.md). Outcome dropped: memscope did not run the command. none: no command is set, or no event occurred.',
      queries: { '{{event}}: {{outcome}}': `${acted('outcome="ok"')} > 0`, '{{event}} failed: {{outcome}}': `${acted('outcome!="ok"')} > 0` },
      field: { noValue: 'none', decimals: 0, color: colour('green') }, overrides: [byQuery('B', [{ id: 'color', value: colour('orange') }])],
      text: BigValueTextMode.ValueAndName,
    }),
  ],
};
