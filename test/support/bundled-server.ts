// The test server that is built with the SDK, as one file with its compiled code: it starts faster, and hundreds of tests
// start it.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const input = fileURLToPath(new URL('./protocol-server.mjs', import.meta.url));

/** The program of a server that speaks one protocol only. Compiled code belongs to one version of Node. */
export const PROTOCOL_SERVER = fileURLToPath(
  new URL(`../../node_modules/.cache/protocol-server-${process.version}.cjs`, import.meta.url),
);

/** Vitest's global setup. */
export async function setup(): Promise<void> {
  const last = statSync(PROTOCOL_SERVER, { throwIfNoEntry: false });
  if (last !== undefined && last.mtimeMs > statSync(input).mtimeMs) return;
  // Not loaded by tests.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({ input, platform: 'node' });
  const { output } = await bundle.generate({ format: 'cjs', minify: true, codeSplitting: false });
  await bundle.close();
  const text = `(require) => {${output[0].code}\n}`;
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
  const file = PROTOCOL_SERVER.replace('.cjs', `-${hash}.cjs`);
  mkdirSync(dirname(file), { recursive: true });
  if (!existsSync(`${file}.code`)) {
    exchange(file, text);
    const options = { cwd: dirname(file), input: '' };
    execFileSync(process.execPath, ['-e', starter(file, true), 'server', 'older', '/dev/null'], options);
  }
  exchange(PROTOCOL_SERVER, starter(file, false));
}

/** Returns a program beside the bundle that runs it with its compiled code, or one that writes that code when it ends. */
const starter = (file: string, isFirst: boolean): string => `const fs = require('node:fs');
const file = require('node:path').resolve(__dirname, ${JSON.stringify(basename(file))});
const cachedData = ${isFirst ? 'undefined' : "fs.readFileSync(file + '.code')"};
const script = new (require('node:vm').Script)(fs.readFileSync(file, 'utf8'), { filename: file, cachedData });
${isFirst ? SAVE : ''}script.runInThisContext()(require);
`;

const SAVE = `process.on('exit', () => {
  fs.writeFileSync(file + '.code.' + process.pid, script.createCachedData());
  fs.renameSync(file + '.code.' + process.pid, file + '.code');
});
`;

// Another run may use the file.
function exchange(file: string, text: string): void {
  writeFileSync(`${file}.${process.pid}`, text);
  renameSync(`${file}.${process.pid}`, file);
}
