// The entry point of the binary. Prints version and help without loading the runtime.

import { writeSync } from 'node:fs';

declare const WIELD_VERSION: string;

// A client may kill its server, so code is saved while it runs too.
const SAVE_AFTER_MS = 1000;

const argv = process.argv.slice(2);
const [first] = argv;

if (argv.length === 1 && (first === 'version' || first === '--version' || first === '-v')) {
  print(`${WIELD_VERSION}\n`);
} else if (argv.length === 0 || (argv.length === 1 && (first === 'help' || first === '--help' || first === '-h'))) {
  void help();
} else if (isTooOld(process.versions.node)) {
  refuse(process.versions.node);
} else {
  void start();
}

function print(text: string): void {
  try {
    for (let bytes = Buffer.from(text); bytes.length > 0; ) bytes = bytes.subarray(writeSync(1, bytes));
  } catch {
    // The command writes it again and says what is wrong.
    void start();
  }
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 20 || (major === 20 && minor < 19);
}

// CLI-42: before anything is loaded that an older Node does not have.
function refuse(version: string): void {
  const message = `wield needs Node 20.19, 22 or 24; this is ${version}`;
  const hint = 'install a newer Node, for example with nvm install 24, and run it again';
  const error = { code: 'unavailable', message, hint };
  if (argv.includes('--json')) writeSync(1, `${JSON.stringify({ ok: false, schema: 1, error })}\n`);
  else writeSync(2, `error  ${message}\n  hint  ${hint}\n`);
  process.exitCode = 8;
}

async function help(): Promise<void> {
  const { formatHelp, formatShortHelp } = await import('./help.js');
  print(argv.length === 0 ? formatShortHelp() : formatHelp());
}

async function start(): Promise<void> {
  const { useCompileCache } = await import('./compile-cache.js');
  const saveCompiled = useCompileCache(argv, process.env);
  const { run, createProcessIo } = first === '__complete' ? await import('./complete.js') : await import('./run.js');
  if (first === 'serve') setTimeout(saveCompiled, SAVE_AFTER_MS).unref();
  const status = await run(argv, createProcessIo());
  await saveCompiled();
  process.exit(status);
}
