import { annotation, dashboard, datasourceVariable, labelVariable } from './dashboard.js';
import { glance } from './job/glance.js';
import { gpu } from './job/gpu.js';
import { deaths, faults, heap, kinds, roles, sharing } from './job/rows.js';
import { JOB, of, WATCHER } from './job/select.js';
import { watcher } from './job/watcher.js';

const verdict = of('verdict', JOB, 'scope="target"');

export const job = dashboard('memscope-job', 'memscope: a job',
  'The first screen shows whether the job leaks, when it runs out of memory, and which roles hold the memory. The rows below show roles, kinds of memory, page faults, the heap, sharing, GPUs, deaths, and the cost of watching. `memscope web` on the node shows the processes, the lines of code and the Python containers that hold memory (docs/web.md). The runbook of the alerts is docs/alerts.md.', {
  from: 'now-1h', refresh: '10s',
  variables: [
    datasourceVariable,
    labelVariable('instance', 'Host', 'label_values(memscope_build_info, instance)'),
    labelVariable('target', 'Job', `label_values(memscope_target_info{${WATCHER}}, target)`),
    labelVariable('role', 'Role', `label_values(memscope_processes{${JOB}}, role)`, true),
    labelVariable('rank', 'Rank', `label_values(memscope_processes{${JOB}}, rank)`, true),
    labelVariable('gpu', 'GPU', `label_values(memscope_gpu_info{${WATCHER}}, gpu)`, true),
  ],
  annotations: [
    annotation('Deaths', 'red', `increase(${of('deaths_total', JOB, 'sender!="tree"')}[1m]) > 0`, '{{cause}}, sender: {{sender}}'),
    annotation('OOM kills', 'dark-red', `increase(${of('memory_events_total', JOB, 'event="oom_kill"')}[1m]) > 0`, 'OOM kill'),
    annotation('Changes of the verdict', 'purple', `changes(${verdict}[1m]) > 0 and ${verdict} == 1`, 'verdict: {{verdict}}'),
  ],
  rows: [glance, roles, kinds, faults, heap, sharing, gpu, deaths, watcher],
});
