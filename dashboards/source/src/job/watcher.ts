// What watching costs, and which events were lost.
import { BigValueTextMode } from '@grafana/schema';
import type { Row } from '../dashboard.js';
import { lines, stat, words } from '../panels.js';
import { of, rate, WATCHER } from './select.js';

export const watcher: Row = {
  title: 'What does watching cost?',
  panels: [
    lines([6, 7], {
      title: 'How much CPU does memscope use?', unit: 'percentunit', description: 'The CPU time of the watcher process as a share of one CPU, for all its jobs together. Helper processes and BPF programs are not included.',
      queries: { CPU: rate('self_cpu_seconds_total', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How much memory does memscope hold?', unit: 'bytes', description: 'The resident set of the watcher process, and the kernel memory of its BPF maps. Helper processes are not included.',
      queries: { resident: of('self_resident_bytes', WATCHER), 'BPF maps': of('self_bpf_map_bytes', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'How long does a tick take?', unit: 's', description: 'The duration of the last tick. If it is close to the interval of the ticks (--interval), ticks are late.',
      queries: { tick: of('tick_duration_seconds', WATCHER) }, field: { min: 0 },
    }),
    lines([6, 7], {
      title: 'Was anything lost?', unit: 'cps', description: 'Events and data per second that memscope could not record, by reason. memscope counts every loss, so zero means that nothing was lost.',
      queries: { '{{reason}}': `sum by (reason) (${rate('events_dropped_total', WATCHER)})` }, field: { min: 0 },
    }),
    stat([24, 3], {
      title: 'Which probes are attached?', unit: 'none', description: 'The panel shows whether each probe of memscope is attached. A probe is not attached if this machine refused it. The probes of CUDA and PyTorch (gpu, torch, host_tensors) are also not attached while they are paused, or while no watched process uses the library. `memscope doctor` says which data is missing without a probe.',
      queries: { '{{probe}}': of('probe_attached', WATCHER) }, field: { mappings: words([['0', 'not attached', 'orange'], ['1', 'attached', 'green']]) },
      text: BigValueTextMode.ValueAndName,
    }),
  ],
};
