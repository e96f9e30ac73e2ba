// The programs that the library starts as processes or threads, and the page: bundles that the build writes into dist/,
// and the setup of the tests into a cache, so that tests run the sources.

import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { fileURLToPath } from 'node:url';
import { synchronousJsonata } from './jsonata.mjs';
import { licenses } from './licenses.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const CACHE = `${root}node_modules/.cache/programs`;
const RECORD = 'sources.json';
const SMALL = { compress: true, mangle: true, codegen: { removeWhitespace: true } };
// Function and class names are preserved for stack traces.
export const READABLE = { ...SMALL, mangle: { keepNames: { function: true, class: true } } };

const PROGRAMS = [
  // The tool host, and the two packages that a standalone module may import.
  {
    folder: 'host',
    input: { main: 'src/executors/module/host/main.ts', wield: 'src/index.ts', zod: 'zod' },
    external: ['@swc/wasm-typescript'],
    output: { format: 'esm', chunkFileNames: '[name]-[hash].js', minify: { ...READABLE, codegen: undefined } },
  },
  {
    folder: 'query',
    input: { main: 'src/context/query/main.ts' },
    plugins: [synchronousJsonata],
    output: { format: 'cjs', minify: SMALL },
  },
  // The engine of programs.
  { folder: 'code', input: { engine: 'src/code/engine/main.ts' }, output: { format: 'cjs', minify: READABLE } },
  // The helper process of a server.
  { folder: 'helper', input: { main: 'src/process/helper-main.ts' }, output: { format: 'cjs', minify: READABLE } },
  // Runs a package runner while it installs something.
  {
    folder: 'first-start',
    input: { main: 'src/process/first-start-main.ts' },
    output: { format: 'cjs', minify: READABLE },
  },
  // The first program in a sandbox with a list of hosts.
  { folder: 'egress', input: { main: 'src/process/egress-main.ts' }, output: { format: 'cjs', minify: READABLE } },
  // The broker of upstream servers.
  { folder: 'broker', input: { main: 'src/upstream/broker/main.ts' }, output: { format: 'cjs', minify: READABLE } },
  // The thread that reads large documents.
  {
    folder: 'openapi',
    input: { thread: 'src/formats/openapi/thread-main.ts' },
    output: { format: 'cjs', minify: READABLE },
  },
  // The page: static files, without anything inline, because its content security policy allows none.
  {
    folder: 'ui',
    input: { page: 'src/ui/page/main.tsx' },
    platform: 'browser',
    files: ['src/ui/page/index.html', 'src/ui/page/page.css'],
    output: { format: 'esm', minify: true },
  },
];

/** Writes all programs into folders of a directory. */
export async function writePrograms(directory) {
  for (const program of PROGRAMS) await write(program, `${directory}/${program.folder}`);
}

/** Vitest's global setup: writes the programs whose sources have changed, also before tests run again. */
export async function setup(project) {
  project.onTestsRerun(writeStalePrograms);
  await writeStalePrograms();
}

/** Writes the programs whose sources have changed into the cache. */
export async function writeStalePrograms() {
  mkdirSync(CACHE, { recursive: true });
  for (const program of PROGRAMS) {
    const folder = `${CACHE}/${program.folder}`;
    if (!isStale(folder)) continue;
    // Written beside, because other tests may use it.
    const next = `${folder}-${process.pid}`;
    const started = new Date();
    const sources = await write(program, next);
    writeFileSync(`${next}/${RECORD}`, JSON.stringify({ started, sources }));
    rmSync(folder, { recursive: true, force: true });
    renameSync(next, folder);
  }
}

// Whether a source is newer than the program, or was removed.
function isStale(folder) {
  try {
    const { started, sources } = JSON.parse(readFileSync(`${folder}/${RECORD}`, 'utf8'));
    return sources.some((file) => statSync(file).mtime >= new Date(started));
  } catch {
    return true;
  }
}

/** Writes a program, and returns the paths of its sources. */
async function write({ input, files = [], output, plugins = [], platform = 'node', external }, directory) {
  // Only a vitest that has to write something loads it.
  const { rolldown } = await import('rolldown');
  const toPath = (source) => (source.startsWith('src/') ? root + source : source);
  const bundle = await rolldown({
    input: Object.fromEntries(Object.entries(input).map(([name, source]) => [name, toPath(source)])),
    platform,
    external,
    plugins: [...plugins, licenses],
  });
  const extension = output.format === 'cjs' ? 'cjs' : 'js';
  await bundle.write({ dir: directory, entryFileNames: `[name].${extension}`, ...output });
  const sources = (await bundle.watchFiles).filter((file) => existsSync(file));
  await bundle.close();
  for (const file of files) copyFileSync(root + file, `${directory}/${file.split('/').at(-1)}`);
  return [...sources, ...files.map((file) => root + file), fileURLToPath(import.meta.url)];
}
