// GPUs, and host memory that is pinned for them. Empty where there is none.
import type { Row } from '../dashboard.js';
import { byQuery, colour, lines, timeline } from '../panels.js';
import { CODES, verdictCode } from '../verdict.js';
import { GPUS, JOB, of, rate, ROLES } from './select.js';

const JOB_GPUS = `${ROLES},gpu=~"$gpu"`;
/** With the number that people call it by; parts of one GPU (MIG) share it, so the name stays. */
const numbered = (metric: string) => `${of(metric, GPUS)} * on (job, instance, gpu) group_left (index) ${of('gpu_info', GPUS)}`;

export const gpu: Row = {
  title: 'What of the GPUs?', folded: true,
  panels: [
    lines([12, 8], {
      title: 'How full is each GPU?', unit: 'bytes', legend: 'right',
      description: 'Memory in use on the device, whoever holds it, against what there is. A caching allocator keeps what it was once given.',
      queries: { '{{index}} used {{gpu}}': numbered('gpu_memory_used_bytes'), '{{index}} total {{gpu}}': numbered('gpu_memory_total_bytes') }, field: { min: 0 },
      overrides: [byQuery('B', [{ id: 'color', value: colour('red') }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([12, 8], {
      title: 'Which role holds GPU memory?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'What the driver books to the processes of each role and rank, contexts and libraries included.',
      queries: { '{{role}} {{rank}} {{gpu}}': `sum by (role, rank, gpu) (${of('gpu_process_memory_bytes', JOB_GPUS)})` }, field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'Reserved, or used by tensors?', unit: 'bytes', legend: 'right',
      description: 'Reserved from the driver, by the call that did it, and what PyTorch\'s tensors use of it. A gap that grows is fragmentation.',
      queries: { 'reserved {{api}} {{rank}} {{gpu}}': `sum by (api, rank, gpu) (${of('gpu_reserved_bytes', JOB_GPUS)})`, 'tensors {{rank}} {{gpu}}': `sum by (rank, gpu) (${of('gpu_tensor_bytes', JOB_GPUS)})` },
      field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'How much host memory is pinned?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'Host memory that can be neither reclaimed nor swapped. What is registered stands in no counter of the kernel.',
      queries: { '{{role}} {{rank}} {{kind}}': `sum by (role, rank, kind) (${of('pinned_host_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How busy is each GPU?', unit: 'percentunit',
      description: 'The share of time in which a kernel ran. It falls to zero when the trainer waits, for instance for memory.',
      queries: { '{{index}} {{gpu}}': numbered('gpu_utilization_ratio') }, field: { min: 0, max: 1 },
    }),
    lines([8, 7], {
      title: 'Was GPU memory refused?', unit: 'cps',
      description: 'Allocations that the driver refused, and errors of the device (Xid), per second. PyTorch empties its cache and asks again before it gives up.',
      queries: { 'refused {{rank}} {{gpu}}': `sum by (rank, gpu) (${rate('gpu_alloc_failures_total', JOB_GPUS)})`, 'Xid {{gpu}}': rate('gpu_xid_errors_total', GPUS) }, field: { min: 0 },
    }),
    timeline([8, 7], {
      title: 'Does GPU or pinned memory leak?', unit: 'none',
      description: 'The verdict on each GPU and on pinned memory.',
      queries: { '{{gpu}} {{role}} {{rank}}': verdictCode(`${JOB},scope="gpu",gpu=~"$gpu"`, 'gpu, role, rank'), 'pinned {{role}} {{rank}}': verdictCode(`${JOB},scope="pinned"`, 'scope, role, rank') },
      field: { mappings: CODES },
    }),
  ],
};
