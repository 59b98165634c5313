// What watching costs, and which events were lost.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { lines, stat, words } from '../panels.js';
import { of, rate, WATCHER } from './select.js';

export const watcher: Row = {
  title: 'What does watching cost?',
  panels: [
    lines([6, 7], {
      title: 'How much CPU does memscope use?', unit: 'percentunit', description: 'CPU time as a part of one CPU, for all targets of the machine together.',
      queries: { CPU: rate('self_cpu_seconds_total', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much memory does memscope hold?', unit: 'bytes', description: 'The resident set of memscope, and the kernel memory of its BPF maps.',
      queries: { resident: of('self_resident_bytes', WATCHER), 'BPF maps': of('self_bpf_map_bytes', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How long does a tick take?', unit: 's', description: 'The time from the first read of a tick to the last. If it comes near the interval, ticks are late.',
      queries: { tick: of('tick_duration_seconds', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'Was anything lost?', unit: 'cps', description: 'Events per second that could not be recorded, by reason. Every loss is counted, so zero means that nothing was lost.',
      queries: { '{{reason}}': `sum by (reason) (${rate('events_dropped_total', WATCHER)})` }, field: { min: 0 },
    }),
    stat([24, 3], {
      title: 'Which kernel probes are attached?', unit: 'none', description: 'Whether each kernel probe is attached. `memscope doctor` says what is missing without it.',
      queries: { '{{probe}}': of('probe_attached', WATCHER) }, field: { mappings: words([['0', 'refused', 'orange'], ['1', 'attached', 'green']]) },
      text: BigValueTextMode.ValueAndName,
    }),
  ],
};
