// Writes the dashboards. With --check it only compares the existing files with the output and fails if they differ.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fleet } from './fleet.js';
import { job } from './job.js';

let stale = 0;
for (const dashboard of [job, fleet]) {
  const file = fileURLToPath(new URL(`../../grafana/${dashboard.uid}.json`, import.meta.url));
  const text = `${JSON.stringify(dashboard, null, 1)}\n`;
  if (!process.argv.includes('--check')) {
    writeFileSync(file, text);
  } else if (readFileSync(file, 'utf8') !== text) {
    console.error(`${file} differs from the output of src/: run npm run build`);
    stale += 1;
  }
}
process.exit(stale ? 1 : 0);
