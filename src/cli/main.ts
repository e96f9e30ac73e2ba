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
