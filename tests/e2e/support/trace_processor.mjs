// Runs Perfetto's trace processor, a WebAssembly module, under Node.
//   node trace_processor.mjs DIRECTORY TRACE SQL...
// DIRECTORY has the files of the trace processor: see perfetto.py. Prints one line of JSON for each query: a list of rows.
// They are built for a worker of a browser, so this file provides the few functions of a browser that they use.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

const [directory, trace, ...queries] = process.argv.slice(2);

/** Loads the module. Returns the two ends of its channel: its own, and ours. */
async function start() {
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  define('self', globalThis);
  define('WorkerGlobalScope', function WorkerGlobalScope() {});
  define('location', { href: 'http://127.0.0.1/' });
  define('XMLHttpRequest', class {
    open() {}
    send() {
      this.response = new Uint8Array(readFileSync(join(directory, 'trace_processor.wasm'))).buffer;
    }
  });
  // The package has the module with 32-bit addresses only. The other one would be chosen if a module that begins with a memory could be compiled.
  const Module = WebAssembly.Module;
  WebAssembly.Module = class extends Module {
    constructor(bytes) {
      if (bytes[8] === 5) throw new WebAssembly.CompileError('no 64-bit addresses');
      super(bytes);
    }
  };
  vm.runInThisContext(readFileSync(join(directory, 'engine_bundle.node.js'), 'utf8'), { filename: 'engine_bundle.node.js' });
  await new Promise((resolve) => setTimeout(resolve, 200)); // the module is loaded above, and starts in a callback
  const { port1, port2 } = new MessageChannel();
  globalThis.onmessage({ data: port1 });
  return [port1, port2];
}

const ports = await start();
console.warn = () => {}; // the engine names fields of answers that it does not know
const { EngineBase } = await import(pathToFileURL(join(directory, 'engine.mjs')).href);
class Engine extends EngineBase {
  mode = 'WASM';
  id = 'check';
  rpcSendRequestBytes(data) {
    ports[1].postMessage(data);
  }
}
const engine = new Engine();
ports[1].onmessage = (message) => engine.onRpcResponseBytes(message.data);
await engine.parse(new Uint8Array(readFileSync(trace)));
await engine.notifyEof();
for (const sql of queries) {
  const answer = await engine.query(sql);
  const rows = [];
  for (const row = answer.iter({}); row.valid(); row.next())
    rows.push(Object.fromEntries(answer.columns().map((name) => [name, row.get(name)])));
  console.log(JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? Number(value) : value)));
}
process.exit(0); // the ports would keep it running
