// Checks the manifests of packaging/kubernetes twice: with the validators of kubernetes-models (wrong values) and with tsc on
// its types (wrong and unknown keys). Then breaks them in known ways, each of which has to be noticed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

const here = fileURLToPath(new URL('.', import.meta.url));
const manifests = `${here}../../packaging/kubernetes/`;
let failed = 0;
const check = (name, ok, detail = '') => {
  console.log(`${ok ? 'ok  ' : 'FAIL'}  ${name}${ok || !detail ? '' : `   [${detail}]`}`);
  failed += ok ? 0 : 1;
};

const load = (file) => parseAllDocuments(readFileSync(file, 'utf8'), { strict: true, uniqueKeys: true }).map((document) => {
  if (document.errors.length) throw document.errors[0];
  return document.toJS();
});

/** What the validator of its kind says is wrong, or nothing. */
async function invalid(object) {
  const { [object.kind]: Kind } = await import(`kubernetes-models/${object.apiVersion}/${object.kind}`);
  try {
    new Kind(object).validate();
    return '';
  } catch (error) {
    return String(error.message);
  }
}

/** What the compiler says of these objects as literals of their types, by index: {2: 'error TS…'}. */
function mistyped(objects) {
  mkdirSync(`${here}node_modules/.check`, { recursive: true });
  const file = `${here}node_modules/.check/objects.ts`;
  const lines = objects.map((object, i) =>
    `import type { I${object.kind} as T${i} } from 'kubernetes-models/${object.apiVersion}/${object.kind}'; export const o${i}: T${i} = ${JSON.stringify(object)};`);
  writeFileSync(file, lines.join('\n'));
  try {
    execFileSync(`${here}node_modules/.bin/tsc`, ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--moduleResolution', 'nodenext', file]);
    return {};
  } catch (error) {
    const found = {};
    for (const match of String(error.stdout).matchAll(/objects\.ts\((\d+),\d+\): (.+)/g)) found[match[1] - 1] ??= match[2];
    return found;
  } finally {
    rmSync(file);
  }
}

const objects = readdirSync(manifests).filter((name) => name.endsWith('.yaml')).flatMap((name) => load(manifests + name));
check('there are manifests', objects.some((o) => o.kind === 'DaemonSet'));
const types = mistyped(objects);
for (const [i, object] of objects.entries()) {
  const said = await invalid(object);
  check(`${object.kind} ${object.metadata.name}: valid`, !said, said);
  check(`${object.kind} ${object.metadata.name}: of its type`, !types[i], types[i]);
}

// What docs/least-privilege.md and docs/fleet.md promise.
const pod = objects.find((o) => o.kind === 'DaemonSet').spec.template.spec;
const container = pod.containers[0];
check('it sees all processes, and is on every node', pod.hostPID === true && pod.tolerations[0].operator === 'Exists');
check('it is not privileged', container.securityContext.privileged === undefined && container.securityContext.allowPrivilegeEscalation === false);
check('it has the four capabilities, and the kernel log', String(container.securityContext.capabilities.add) === 'BPF,PERFMON,SYS_PTRACE,DAC_READ_SEARCH,SYSLOG'
  && String(container.securityContext.capabilities.drop) === 'ALL');
check('requests are limits: Guaranteed', JSON.stringify(container.resources.requests) === JSON.stringify(container.resources.limits));
const mounted = new Set(container.volumeMounts.map((m) => m.name));
check('every volume is mounted, every mount has a volume', pod.volumes.every((v) => mounted.delete(v.name)) && mounted.size === 0);
check('cgroups and the kernel log are read-only', container.volumeMounts.filter((m) => ['cgroup', 'kmsg', 'config'].includes(m.name)).every((m) => m.readOnly));
const config = objects.find((o) => o.kind === 'ConfigMap').data['memscope.toml'];
check('the port is the one that is served', config.includes(`:${container.ports[0].containerPort}"`));

const broken = {
  'a word for a number': (o) => { o.spec.template.spec.containers[0].ports[0].containerPort = 'many'; },
  'a number for a switch': (o) => { o.spec.template.spec.hostPID = 1; },
  'no selector': (o) => { delete o.spec.selector; },
  'a key that is misspelt': (o) => { o.spec.template.spec.containers[0].volumeMount = []; },
  'a key in the wrong place': (o) => { o.spec.hostPID = true; },
};
const copies = Object.values(broken).map((breaks) => {
  const copy = structuredClone(objects.find((o) => o.kind === 'DaemonSet'));
  breaks(copy);
  return copy;
});
const noticed = mistyped(copies);
for (const [i, name] of Object.keys(broken).entries()) check(`${name} is noticed`, noticed[i] || await invalid(copies[i]));

process.exit(failed ? 1 : 0);
