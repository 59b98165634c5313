// The label selectors of the job that is shown.
export const WATCHER = 'instance="$instance"';
export const JOB = `${WATCHER},target="$target"`;
/** The job, restricted to the roles and ranks that are selected at the top of the page. */
export const ROLES = `${JOB},role=~"$role",rank=~"$rank"`;
export const GPUS = `${WATCHER},gpu=~"$gpu"`;
export const of = (metric: string, selector = JOB, more = '') => `memscope_${metric}{${selector}${more ? `,${more}` : ''}}`;
export const rate = (metric: string, selector = JOB, more = '') => `rate(${of(metric, selector, more)}[$__rate_interval])`;
