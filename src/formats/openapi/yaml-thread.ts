// Parses large YAML in a thread: it takes about a second for each megabyte.

import { createRequire } from 'node:module';

export type ParsedYaml =
  /** The document as JSON. */
  { readonly json: string } | { readonly message: string; readonly linePos?: readonly { readonly line: number }[] };

const PARSE_MS = 180_000;
const MAX_JSON = 256 * 1024 * 1024;
const MEMORY_MB = 4096;
const TOO_LARGE = 'it is too large; convert it to JSON';

const THREAD = `
const { parentPort, workerData: { library, bytes, options, most } } = require('node:worker_threads');
try {
  const json = JSON.stringify(require(library).parse(Buffer.from(bytes).toString('utf8'), options));
  parentPort.postMessage(json.length > most ? {} : { json });
} catch ({ message, linePos }) {
  parentPort.postMessage(linePos === undefined ? {} : { message, linePos });
}`;

/** Options of the parser, which are the same without a thread. */
export const YAML_OPTIONS = { maxAliasCount: 1000, schema: 'core', uniqueKeys: false, logLevel: 'error' } as const;

/** Parses YAML. Never rejects. */
export function parseYamlInThread(bytes: Uint8Array): Promise<ParsedYaml> {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const library = createRequire(import.meta.url).resolve('yaml');
  const workerData = { library, bytes, options: YAML_OPTIONS, most: MAX_JSON };
  const resourceLimits = { maxOldGenerationSizeMb: MEMORY_MB };
  const worker = new Worker(THREAD, { eval: true, workerData, env: {}, execArgv: [], argv: [], resourceLimits });
  return new Promise((resolve) => {
    const settle = (answer: Partial<{ json: string; message: string }>): void => {
      clearTimeout(timer);
      void worker.terminate();
      resolve('json' in answer ? (answer as ParsedYaml) : { message: TOO_LARGE, ...answer });
    };
    const timer = setTimeout(() => settle({}), PARSE_MS);
    worker
      .on('message', settle)
      .on('error', () => settle({}))
      .on('exit', () => settle({}));
  });
}
