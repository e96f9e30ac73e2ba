// Builds the package into dist/: the library (ES modules with types), the binary (CommonJS), the programs that are started
// as processes or threads, and the page. Everything is written beside it and swapped in at the end.

import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { licenses, writeLicenses, writeSbom } from './licenses.mjs';
import { READABLE, writePrograms } from './programs.mjs';
import { answerHelp } from './usage.mjs';

answerHelp(import.meta.url);

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = `${root}dist`;
const next = `${root}dist-next`;
const { name, version, license, exports: exported } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'));

rmSync(next, { recursive: true, force: true });
// `--bundles` keeps the library, for the mutation tests.
if (process.argv.includes('--bundles')) {
  cpSync(dist, next, { recursive: true });
  rmSync(`${next}/cli`, { recursive: true });
} else {
  // `--checked` for those who check the types themselves.
  const flags = process.argv.includes('--checked') ? ['--noCheck'] : [];
  const compiler = `${root}node_modules/typescript/bin/tsc`;
  const args = [compiler, '-p', `${root}tsconfig.build.json`, '--outDir', next, ...flags];
  execFileSync(process.execPath, args, { stdio: 'inherit' });
  await bundleSdk(['upstream/sdk']);
  stripMarks(next);
  await writeRequired(next);
}
await writePrograms(next);
await writeBinary(`${next}/cli`);
writeLicenses(`${next}/licenses.txt`);
writeSbom(`${next}/sbom.cdx.json`, { name, version, license });
swap();

/** Replaces modules that export parts of the SDK by a bundle. Nothing that the package exports has its types. */
async function bundleSdk(names) {
  const sdk = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, `${root}src/${name}.ts`])),
    platform: 'node',
    external: ['zod', /^zod\//, '@cfworker/json-schema'],
    plugins: [licenses],
  });
  await sdk.write({ dir: next, format: 'esm', chunkFileNames: 'sdk/[name].js', minify: READABLE });
  await sdk.close();
  for (const name of names) {
    const file = `${next}/${name}.d.ts`;
    const exported = [...readFileSync(file, 'utf8').matchAll(/^export (type )?\{([^}]+)\}/gm)];
    const lines = exported.flatMap(([, onlyType, list]) =>
      list.match(/\w+/g).map((one) => {
        const type = `export type ${one} = any;`;
        return onlyType === undefined ? `${type} export declare const ${one}: any;` : type;
      }),
    );
    writeFileSync(file, `${lines.join('\n')}\n`);
  }
}

/** Removes the ids of statements from the comments that editors show: `(TOOL-1, A12)`. */
function stripMarks(directory) {
  const id = '(?:[A-Z]{2,4}-|[A-Z])\\d+';
  const marks = new RegExp(`(?:\\s+\\*)?\\s*\\((?!SEP-)${id}(?:(?:,| to| and)\\s(?:${id}|\\d+))*\\)`, 'g');
  for (const name of readdirSync(directory, { recursive: true }).filter((one) => one.endsWith('.d.ts'))) {
    const file = `${directory}/${name}`;
    const text = readFileSync(file, 'utf8');
    const stripped = text.replace(/\/\*\*[\s\S]*?\*\//g, (comment) => comment.replace(marks, ''));
    if (stripped !== text) writeFileSync(file, stripped);
  }
}

/**
 * Writes each entry for CommonJS: a file that loads the ES module with `require`, as every supported Node can, so that both
 * have the same objects, and its types, without which TypeScript rejects `require` with `--module node16`.
 */
async function writeRequired(directory) {
  const entries = Object.values(exported).flatMap(({ types }) => types ?? []);
  for (const entry of entries) {
    const file = entry.replace('./dist', directory).replace(/\.d\.ts$/, '');
    const from = `'./${basename(file)}.js'`;
    const names = Object.entries(await import(`${file}.js`)).flatMap(([name, value]) => {
      const its = `import(${from}, { with: { 'resolution-mode': 'import' } }).${name}`;
      const isClass = /^class\b/.test(String(value));
      return [`export declare const ${name}: typeof ${its};`, ...(isClass ? [`export type ${name} = ${its};`] : [])];
    });
    const types = `export type * from ${from} with { 'resolution-mode': 'import' };`;
    writeFileSync(`${file}.d.cts`, `${[types, ...names].join('\n')}\n`);
    writeFileSync(`${file}.cjs`, `module.exports = require(${from});\n`);
  }
}

/** Writes the binary: a small entry, and a file for each part that is imported on demand. */
async function writeBinary(directory) {
  const bundle = await rolldown({
    input: { wield: `${root}src/cli/main.ts` },
    platform: 'node',
    external: ['@swc/wasm-typescript'],
    plugins: [licenses],
    // Of modules that are imported on demand, some are in the same file.
    checks: { ineffectiveDynamicImport: false },
    transform: { define: { WIELD_VERSION: JSON.stringify(version) } },
  });
  const { output } = await bundle.generate({
    format: 'cjs',
    banner: ({ isEntry }) => (isEntry ? '#!/usr/bin/env node' : ''),
    entryFileNames: '[name].cjs',
    // With a hash: running commands must not load files of another build.
    chunkFileNames: '[name]-[hash].cjs',
    // Code from a compile cache cannot use import() on Node 20.
    dynamicImportInCjs: false,
    // Few files load faster than many: a module is in the first of these with everything that it imports. `start` is
    // compiled at every run, because it is loaded before the compile cache.
    codeSplitting: {
      groups: [
        { name: 'start', test: /src\/cli\/compile-cache\.ts$/, priority: 3 },
        { name: 'help', test: /src\/cli\/help\.ts$/, priority: 2 },
        { name: 'main', test: /src\/cli\/(?:run|verbs\/(?:list|call))\.ts$/, priority: 1 },
        { name: 'serve', test: /src\/cli\/verbs\/serve\.ts$/ },
      ],
    },
    minify: READABLE,
  });
  await bundle.close();
  for (const file of output) assertNoCircle(file, output);
  mkdirSync(directory, { recursive: true });
  for (const { fileName, code, moduleIds } of output) {
    if (/\bimport\(/.test(code)) throw new Error(`${fileName} uses import(), which does not work from a compile cache`);
    writeFileSync(`${directory}/${fileName}`, toAscii(moduleIds.every(isConstant) ? assignExports(code) : code));
  }
  chmodSync(`${directory}/wield.cjs`, 0o755);
}

// Whether a module of ours never changes what it exported.
function isConstant(id) {
  return id.startsWith(`${root}src/`) && !/^export let /m.test(readFileSync(id, 'utf8'));
}

// The exports of a file in a circle are read before they are all there.
function assertNoCircle({ fileName, imports }, output) {
  const loaded = new Set(imports);
  for (const name of loaded)
    for (const next of output.find((one) => one.fileName === name)?.imports ?? []) loaded.add(next);
  if (loaded.has(fileName)) throw new Error(`${fileName} imports itself, by other files`);
}

// Only exports that change need getters. Creating one object takes less time than adding 500 members: 5 % of a listing.
// Like a namespace, it has no prototype.
function assignExports(code) {
  // A value is a name, or a constant text.
  const getter =
    /Object\.defineProperty\(exports,("[^"]+"),\{enumerable:!0,get:function\(\)\{return *([\w$]+|`[^`]*`|"[^"]*"|-?[\d.e]+)\}\}\)[,;]/g;
  const members = [];
  const rest = code.replace(getter, (_, name, value) => {
    members.push(`${name}:${value}`);
    return '';
  });
  if (members.length === 0) return code;
  const left = /Object\.defineProperty\(exports.{0,80}/.exec(rest);
  if (left !== null) throw new Error(`an export would be lost: ${left[0]}`);
  return `${rest}module.exports={__proto__:null,${members}};`;
}

// V8 stores and scans a source with other characters at two bytes per character.
function toAscii(text) {
  return text.replace(/[^\0-\x7f]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function swap() {
  const last = `${root}dist-last`;
  rmSync(last, { recursive: true, force: true });
  try {
    renameSync(dist, last);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  renameSync(next, dist);
  rmSync(last, { recursive: true, force: true });
}
