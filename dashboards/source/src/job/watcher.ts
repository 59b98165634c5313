// What memscope costs, and what it could not see.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { lines, stat, words } from '../panels.js';
import { of, rate, WATCHER } from './select.js';

export const watcher: Row = {
  title: 'What does watching cost?',
  panels: [
    lines([6, 7], {
      title: 'How much CPU does memscope use?', unit: 'percentunit', description: 'Of one CPU. All targets of the machine together.',
      queries: { CPU: rate('self_cpu_seconds_total', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much memory does memscope hold?', unit: 'bytes', description: 'The process itself, and the kernel memory of its BPF maps.',
      queries: { resident: of('self_resident_bytes', WATCHER), 'BPF maps': of('self_bpf_map_bytes', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How long does a tick take?', unit: 's', description: 'From the first read to the last. Far below the interval, or ticks are late.',
      queries: { tick: of('tick_duration_seconds', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'Was anything lost?', unit: 'cps', description: 'What could not be recorded, by reason. Nothing is lost silently: flat at zero means that nothing was.',
      queries: { '{{reason}}': `sum by (reason) (${rate('events_dropped_total', WATCHER)})` }, field: { min: 0 },
    }),
    stat([24, 3], {
      title: 'Which signals does memscope get?', unit: 'none', description: 'The kernel probes that are attached. `memscope doctor` says what a missing one costs.',
      queries: { '{{probe}}': of('probe_attached', WATCHER) }, field: { mappings: words([['0', 'refused', 'orange'], ['1', 'attached', 'green']]) },
      text: BigValueTextMode.ValueAndName,
    }),
  ],
};
