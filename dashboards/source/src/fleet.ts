// All targets on all hosts, sorted by the time until they run out of memory. The queries use only series of
// memscope.recording.yml and gauges of a target, so that the page works where no other series are kept (docs/fleet.md).
import { BigValueTextMode } from '@grafana/schema';
import { annotation, dashboard, datasourceVariable, labelVariable } from './dashboard.js';
import { bars, colour, lines, stat, steps, table, timeline } from './panels.js';
import { CODES } from './verdict.js';

const WHERE = 'instance=~"$instance"';
const WHICH = `${WHERE},target=~"$target"`;
const NEVER = 1e9;  // the value for "no forecast", so that a table that is sorted by time has these jobs at its end
const target = (name: string, more = '') => `target:memscope_${name}{${WHICH}${more}}`;
const instance = (name: string) => `instance:memscope_${name}{${WHERE}}`;
const living = `memscope_target_up{${WHICH}} == 1`;

export const fleet = dashboard('memscope-fleet', 'memscope: a fleet',
  'All jobs on all watched machines, sorted by the time until they run out of memory. `memscope web` on the node of a job shows the processes, the lines of code and the Python containers that hold memory (docs/web.md). The runbook of the alerts is docs/alerts.md.', {
  from: 'now-6h', refresh: '30s',
  variables: [
    datasourceVariable,
    labelVariable('instance', 'Host', 'label_values(memscope_build_info, instance)', true),
    labelVariable('target', 'Job', `label_values(memscope_target_up{${WHERE}}, target)`, true),
  ],
  annotations: [
    annotation('Deaths', 'red', `increase(${target('deaths_total:sum')}[2m]) > 0`, '{{target}} on {{instance}}: {{cause}}'),
    annotation('Leaks', 'purple', `${target('verdict:code')} == 4 and changes(${target('verdict:code')}[2m]) > 0`, '{{target}} on {{instance}}: leaking'),
  ],
  rows: [
    { panels: [
      stat([4, 4], { title: 'How many jobs leak?', unit: 'none', description: 'The number of jobs that have the verdict leaking now.',
        queries: { leaking: `count(${target('verdict:code')} == 4) or vector(0)` }, field: { thresholds: steps('green', [1, 'red']) } }),
      stat([4, 4], { title: 'How many jobs reach a limit within 1 h?', unit: 'none', description: 'The number of jobs whose forecast is less than 1 h. The basis of the forecast is a leak, a recurring spike, or the trend of the last minute. A warm-up does not count. The alert for a leak or a spike is MemscopeOomForetold, or MemscopeHostOomForetold if the memory of the machine runs out first. The alert for a trend is MemscopeOomImminent or MemscopeHostOomImminent.',
        queries: { 'within the hour': `count(${target('oom_eta_seconds:min')} < 3600) or vector(0)` }, field: { thresholds: steps('green', [1, 'red']) } }),
      stat([4, 4], { title: 'How many processes died in the last hour?', unit: 'none', description: 'The number of processes that died on all machines. Processes that their own job ended (teardown) are not counted.',
        queries: { deaths: `round(sum(increase(${target('deaths_total:sum')}[1h]))) or vector(0)` }, field: { decimals: 0, thresholds: steps('green', [1, 'orange']) } }),
      stat([4, 4], { title: 'How many jobs are watched?', unit: 'none', description: 'The number of jobs (targets) that exist now.',
        queries: { jobs: `sum(${instance('targets:count')}) or vector(0)` }, field: { color: colour('blue') }, graph: true }),
      stat([4, 4], { title: 'How many machines are watched?', unit: 'none', description: 'The number of machines whose memscope answers scrapes.',
        queries: { machines: `count(memscope_build_info{${WHERE}})` }, field: { color: colour('blue') } }),
      stat([4, 4], { title: 'How many machines are not watched?', unit: 'none', description: 'The number of machines whose memscope does not answer scrapes now. The alert is MemscopeWatcherDown.',
        queries: { 'machines without an answer': `count(up{job=~".*memscope.*",${WHERE}} == 0) or vector(0)` }, field: { thresholds: steps('green', [1, 'orange']) } }),
    ] },
    { panels: [
      table([24, 13], {
        title: 'Which jobs run out of memory first?', unit: 'none',
        description: 'All jobs. The job with the shortest time to an OOM kill is first. The time is a forecast from a leak, a recurring spike, or the trend of the last minute. A job that is warming up has no forecast here. The name of a job is a link to its dashboard.',
        queries: {
          eta: `${target('oom_eta_seconds:min')} or (${living}) * ${NEVER}`, verdict: target('verdict:code'), held: target('memory_held:ratio'),
          left: `memscope_memory_headroom_bytes{${WHICH}}`, growth: target('floor_slope_bytes_per_second:max'), signs: target('oom_precursors:sum'), processes: target('processes:sum'),
        },
        columns: [
          { refId: 'A', title: 'time to OOM', unit: 's', width: 140, properties: [
            { id: 'mappings', value: [{ type: 'range', options: { from: NEVER, to: null, result: { text: 'no forecast', color: 'green', index: 0 } } }] },
            { id: 'custom.cellOptions', value: { type: 'color-text' } },
            { id: 'thresholds', value: steps('red', [3600, 'orange'], [86400, 'green']) }] },
          { label: 'instance', title: 'host', width: 200 },
          { label: 'target', title: 'job', properties: [{ id: 'links', value: [{ title: 'Open the dashboard of this job', url: '/d/memscope-job?var-instance=${__data.fields.host}&var-target=${__data.fields.job}' }] }] },
          { refId: 'B', title: 'verdict', width: 130, properties: [{ id: 'mappings', value: CODES }, { id: 'custom.cellOptions', value: { type: 'color-text' } }] },
          { refId: 'C', title: 'share of the limit', unit: 'percentunit', width: 150, properties: [{ id: 'min', value: 0 }, { id: 'max', value: 1 }, { id: 'custom.cellOptions', value: { type: 'gauge', mode: 'basic' } }, { id: 'thresholds', value: steps('green', [0.8, 'orange'], [0.9, 'red']) }] },
          { refId: 'D', title: 'headroom', unit: 'bytes', width: 100 },
          { refId: 'E', title: 'floor rises by', unit: 'Bps', width: 120 },
          { refId: 'F', title: 'precursors', width: 110, properties: [{ id: 'thresholds', value: steps('green', [1, 'red']) }, { id: 'custom.cellOptions', value: { type: 'color-text' } }] },
          { refId: 'G', title: 'processes', width: 100 },
        ],
        sort: { by: 'time to OOM', descending: false },
      }),
    ] },
    { title: 'How do the jobs develop over time?', panels: [
      lines([12, 9], { title: 'Which jobs hold the most of their limit?', unit: 'percentunit', legend: 'right', description: 'Unreclaimable memory (and swap, if the limit counts swap) divided by the effective limit. The memory of other jobs below the same limit is included. The panel shows the 20 jobs with the largest share at each time.',
        queries: { '{{target}} {{instance}}': `topk(20, ${target('memory_held:ratio')})` }, field: { min: 0, max: 1 } }),
      timeline([12, 9], { title: 'What were the verdicts over time?', unit: 'none', description: 'The verdicts of the 30 jobs whose floor rises fastest at each time.',
        queries: { '{{target}} {{instance}}': `${target('verdict:code')} and on (instance, target) topk(30, ${target('floor_slope_bytes_per_second:max')})` }, field: { mappings: CODES } }),
      lines([12, 8], { title: 'What do processes die of?', unit: 'none', stacked: true, description: 'The number of processes that died on all machines within the previous five minutes, by cause. Teardown is not counted.',
        queries: { '{{cause}}': `sum by (cause) (increase(${target('deaths_total:sum')}[5m]))` }, field: { min: 0 } }),
      lines([12, 8], { title: 'Which jobs copy shared pages?', unit: 'bytes', description: 'The memory that forked processes have copied from their parent (copy-on-write un-sharing), for the ten jobs with the largest copies.',
        queries: { '{{target}} {{instance}}': `topk(10, ${target('cow_unshared_bytes:sum')})` }, field: { min: 0 } }),
      bars([12, 8], { title: 'Which GPUs are the fullest?', unit: 'percentunit', description: 'Used memory divided by total memory, for the 20 fullest GPUs now. The panel is empty if no machine has a GPU.',
        queries: { '{{instance}} {{gpu}}': `sort_desc(topk(20, ${instance('gpu_memory_used:ratio')}))` }, field: { min: 0, max: 1, thresholds: steps('green', [0.9, 'orange'], [0.95, 'red']) } }),
      lines([12, 8], { title: 'Which jobs hold GPU and pinned memory?', unit: 'bytes', description: 'The ten jobs with the most GPU memory, and the ten jobs with the most pinned host memory. The panel is empty if no machine has a GPU.',
        queries: { 'GPU: {{target}} {{instance}}': `topk(10, ${target('gpu_process_memory_bytes:sum')})`, 'pinned: {{target}} {{instance}}': `topk(10, ${target('pinned_host_bytes:sum')})` }, field: { min: 0 } }),
    ] },
    { title: 'Do the watchers work?', panels: [
      stat([8, 6], { title: 'Which alerts fire?', unit: 'none', description: 'The number of firing memscope alerts, by name.', text: BigValueTextMode.ValueAndName,
        queries: { '{{alertname}}': `count by (alertname) (ALERTS{alertname=~"Memscope.+",alertstate="firing",${WHERE}})` }, field: { noValue: 'none', color: colour('red') } }),
      lines([8, 6], { title: 'How much CPU do watchers use?', unit: 'percentunit', description: 'The CPU time of the watcher process as a share of one CPU, for the ten watchers that use the most. Helper processes and BPF programs are not included.',
        queries: { '{{instance}}': `topk(10, ${instance('self_cpu:rate5m')})` }, field: { min: 0 } }),
      lines([8, 6], { title: 'Which watchers lost something?', unit: 'none', description: 'The number of events that a watcher could not record within the previous 15 minutes, for the ten machines with the most losses.',
        queries: { '{{instance}}': `topk(10, ${instance('events_dropped:increase15m')})` }, field: { min: 0 } }),
      table([24, 6], { title: 'How many machines run each version?', unit: 'none', description: 'The number of machines for each version and architecture of memscope.',
        queries: { machines: `count by (version, architecture) (memscope_build_info{${WHERE}})` },
        columns: [{ label: 'version', title: 'version' }, { label: 'architecture', title: 'architecture' }, { title: 'machines' }] }),
    ] },
  ],
});
