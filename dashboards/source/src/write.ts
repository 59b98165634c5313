// Writes the dashboards; with --check it only says whether what stands there is what would be written.
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
    console.error(`${file} is not what src/ makes: npm run build`);
    stale += 1;
  }
}
process.exit(stale ? 1 : 0);
