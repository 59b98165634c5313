// GPUs, and host memory that is pinned for them. Empty if there is no GPU.
import type { Row } from '../dashboard.js';
import { byQuery, colour, lines, timeline } from '../panels.js';
import { CODES, verdictCode } from '../verdict.js';
import { GPUS, JOB, of, rate, ROLES } from './select.js';

const JOB_GPUS = `${ROLES},gpu=~"$gpu"`;
/** Adds the index of the GPU. The UUID stays in the legend, because parts of one GPU (MIG) have the same index. */
const numbered = (metric: string) => `${of(metric, GPUS)} * on (job, instance, gpu) group_left (index) ${of('gpu_info', GPUS)}`;

export const gpu: Row = {
  title: 'How is GPU memory used?', folded: true,
  panels: [
    lines([12, 8], {
      title: 'How full is each GPU?', unit: 'bytes', legend: 'right',
      description: 'The memory of the GPU that all processes use, and the total memory of the GPU. A caching allocator (PyTorch, for example) keeps memory that the program has freed.',
      queries: { '{{index}} used {{gpu}}': numbered('gpu_memory_used_bytes'), '{{index}} total {{gpu}}': numbered('gpu_memory_total_bytes') }, field: { min: 0 },
      overrides: [byQuery('B', [{ id: 'color', value: colour('red') }, { id: 'custom.fillOpacity', value: 0 }])],
    }),
    lines([12, 8], {
      title: 'Which role holds GPU memory?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'The GPU memory that the driver attributes to the processes of each role and rank. CUDA contexts are included.',
      queries: { '{{role}} {{rank}} {{gpu}}': `sum by (role, rank, gpu) (${of('gpu_process_memory_bytes', JOB_GPUS)})` }, field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'How much reserved GPU memory do tensors use?', unit: 'bytes', legend: 'right',
      description: 'reserved: GPU memory that processes have allocated by calls of the CUDA driver and not freed, by kind of call. tensors: the part of it that PyTorch has allocated to tensors (only with --torch). The difference is cached or fragmented memory, and memory that other libraries have allocated.',
      queries: { 'reserved {{api}} {{rank}} {{gpu}}': `sum by (api, rank, gpu) (${of('gpu_reserved_bytes', JOB_GPUS)})`, 'tensors {{rank}} {{gpu}}': `sum by (rank, gpu) (${of('gpu_tensor_bytes', JOB_GPUS)})` },
      field: { min: 0 },
    }),
    lines([12, 8], {
      title: 'How much host memory is pinned?', unit: 'bytes', stacked: true, legend: 'right',
      description: 'Host memory that processes have pinned through the CUDA driver. alloc: memory that was allocated as pinned memory. register: memory that was pinned after its allocation. The kernel can neither reclaim nor swap pinned memory. Pinning by register changes no counter of the kernel.',
      queries: { '{{role}} {{rank}} {{kind}}': `sum by (role, rank, kind) (${of('pinned_host_bytes', ROLES)})` }, field: { min: 0 },
    }),
    lines([8, 7], {
      title: 'How busy is each GPU?', unit: 'percentunit',
      description: 'The share of the last sampling period of the driver in which at least one CUDA kernel ran on the GPU. The value falls to zero if the trainer waits, for example for memory. A MIG device has no value.',
      queries: { '{{index}} {{gpu}}': numbered('gpu_utilization_ratio') }, field: { min: 0, max: 1 },
    }),
    lines([8, 7], {
      title: 'Was GPU memory refused?', unit: 'cps',
      description: 'Allocations that the CUDA driver refused because there was too little memory, and critical errors of the GPU (Xid), per second. After a refusal PyTorch frees its cache and tries again before it raises an error.',
      queries: { 'refused {{rank}} {{gpu}}': `sum by (rank, gpu) (${rate('gpu_alloc_failures_total', JOB_GPUS)})`, 'Xid {{gpu}}': rate('gpu_xid_errors_total', GPUS) }, field: { min: 0 },
    }),
    timeline([8, 7], {
      title: 'Does GPU or pinned memory leak?', unit: 'none',
      description: 'The verdict on the memory that the job holds on each GPU, and the verdict on its pinned host memory.',
      queries: { '{{gpu}} {{role}} {{rank}}': verdictCode(`${JOB},scope="gpu",gpu=~"$gpu"`, 'gpu, role, rank'), 'pinned {{role}} {{rank}}': verdictCode(`${JOB},scope="pinned"`, 'scope, role, rank') },
      field: { mappings: CODES },
    }),
  ],
};
