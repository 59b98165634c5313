// The labels that pick out the job of the page.
export const WATCHER = 'instance="$instance"';
export const JOB = `${WATCHER},target="$target"`;
/** With the roles and ranks that are chosen at the top. */
export const ROLES = `${JOB},role=~"$role",rank=~"$rank"`;
export const GPUS = `${WATCHER},gpu=~"$gpu"`;
export const of = (metric: string, selector = JOB, more = '') => `memscope_${metric}{${selector}${more ? `,${more}` : ''}}`;
export const rate = (metric: string, selector = JOB, more = '') => `rate(${of(metric, selector, more)}[$__rate_interval])`;
