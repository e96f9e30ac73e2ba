// The binary: answers what needs no runtime at once, and is the only place that ends the process.

import { writeSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { createChunks } from './chunks.js';
import { createProcessIo } from './process-io.js';

declare const WIELD_VERSION: string;
declare const WIELD_BUILD: string;
/** What `help.ts` gives, written when the binary is built. */
declare const WIELD_HELP: string;

// Each has code of its own that is kept. All else starts from that of a call.
const KEPT = new Set(['__complete', 'list', 'serve', 'call']);

const argv = process.argv.slice(2);
const [first] = argv;

if (argv.length === 1 && (first === 'version' || first === '--version')) {
  writeSync(1, `${WIELD_VERSION}\n`);
} else if (
  argv.length === 0 ||
  (argv.length === 1 && (first === 'help' || first === '--help' || first === '-h'))
) {
  writeSync(1, WIELD_HELP);
} else {
  void start(argv.find((word) => KEPT.has(word)) ?? 'call');
}

async function start(kind: string): Promise<void> {
  const keptIn = findKeptCode(kind);
  const chunks = createChunks(import.meta.dirname, keptIn);
  const io = createProcessIo();
  let status: number;
  if (first === '__complete') {
    const { answer } = chunks.load('complete.cjs') as typeof import('./complete.js');
    status = await answer(argv.slice(1), io);
  } else {
    const { run } = chunks.load('run.cjs') as typeof import('./run.js');
    status = await run(argv, io);
  }
  if (keptIn !== undefined && chunks.hasNews()) {
    const { keepCode } = chunks.load('keep-code.cjs') as typeof import('./keep-code.js');
    keepCode(keptIn, chunks, first!);
  }
  process.exit(status);
}

// Node's version decides what its engine can read; the build, what was compiled.
function findKeptCode(kind: string): string | undefined {
  const { env, version, arch } = process;
  const home = env.WIELD_HOME || (env.HOME && join(env.HOME, '.wield'));
  if (!home || !isAbsolute(home)) return undefined;
  return join(home, 'cache', 'code', `${version}-${arch}`, `${kind}-${WIELD_BUILD}`);
}
