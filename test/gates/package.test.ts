// Gate: the packed tarball holds what it must, installs into an empty project elsewhere, runs and can be imported.

import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../support/documents.js';
import { ALL_TESTS, SAMPLED, some } from '../support/effort.js';
import { finding, spec, testThorough } from '../support/spec.js';
import { readStatements } from '../support/statements.js';

const run = promisify(execFile);
const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith('.json'));
// npm may have to download every dependency.
const SLOW = 600_000;

let root: string;
let project: string;
let tarball: string;
let contents: readonly string[];
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-pack-')));
  project = join(root, 'home', 'project');
  mkdirSync(project, { recursive: true });
  // Without `prepack`, which would rebuild dist/ while other tests use it.
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', root], {
    cwd: ROOT,
  });
  const [{ filename, files }] = JSON.parse(packed.stdout);
  tarball = join(root, filename);
  contents = files.map((file: { path: string }) => file.path);
  writeFileSync(join(project, 'package.json'), '{ "name": "elsewhere", "private": true, "type": "module" }');
  if (ALL_TESTS) {
    const install = ['install', '--yes', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', tarball];
    await run('npm', install, { cwd: project });
  } else await unpack();
  env = { PATH: process.env.PATH, HOME: join(root, 'home'), LANG: 'C.UTF-8' };
}, SLOW);

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Does what npm does, with the declared dependencies of this project: copying those takes most of its time. */
async function unpack(): Promise<void> {
  const modules = join(project, 'node_modules');
  const installed = join(modules, 'wield');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', tarball, '--strip-components=1', '-C', installed]);
  const { dependencies, bin } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
  mkdirSync(join(modules, '.bin'));
  symlinkSync(join(installed, bin.wield), join(modules, '.bin', 'wield'));
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  }
}

describe('the package', () => {
  const wield = async (...args: string[]): Promise<string> =>
    (await run(join(project, 'node_modules', '.bin', 'wield'), args, { cwd: project, env })).stdout;

  spec('PKG-1', 'contains the build, the documents and the examples only', () => {
    const outside = contents
      .filter((path) => !/^(?:dist|docs|examples|schemas|spec)\/|^[A-Z_]+\.md$/.test(path))
      .sort();
    expect(outside).toEqual(['LICENSE', 'package.json']);
    expect(contents).toContain('dist/cli/wield.cjs');
    expect(contents).toContain('dist/licenses.txt');
    expect(
      contents.filter((path) => /^dist\/.*\.test\.|(?<!\.d)\.[cm]?tsx?$/.test(path) && !path.startsWith('examples/')),
    ).toEqual([]);
  });

  spec('PKG-1', 'says where it comes from, and installs without running anything', () => {
    const packed = JSON.parse(readFileSync(join(project, 'node_modules/wield/package.json'), 'utf8'));
    const { repository, homepage, bugs, keywords, publishConfig, funding, scripts } = packed;
    const address = repository.url.replace(/^git\+(https:.*)\.git$/, '$1');
    expect(address).toMatch(/^https:\/\/github\.com\/[\w-]+\/wield$/);
    for (const one of [homepage, bugs]) expect(one.startsWith(address)).toBe(true);
    expect(keywords).toContain('mcp');
    // What `npm publish --provenance` needs, with `repository`.
    expect(publishConfig).toEqual({ access: 'public' });
    expect(funding).toBeUndefined();
    expect(Object.keys(scripts).filter((name) => /^(?:pre|post)?install$|^prepare$/.test(name))).toEqual([]);
  });

  spec('PKG-3', 'lists the packages that its bundles contain', async () => {
    const bom = JSON.parse(readFileSync(join(project, 'node_modules/wield/dist/sbom.cdx.json'), 'utf8'));
    expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 });
    expect(bom.metadata.component).toMatchObject({ name: 'wield', version: manifest.version });
    const texts = readFileSync(join(ROOT, 'dist/licenses.txt'), 'utf8').split(/^-{80}$/m);
    const licensed = texts.slice(1).map((text) => text.trim().split('\n')[0]);
    type Component = { name: string; version: string; purl: string; licenses: [{ expression: string }] };
    const components: readonly Component[] = bom.components;
    const listed = components.map(
      ({ name, version, licenses: [{ expression }] }) => `${name} ${version} (${expression})`,
    );
    expect(listed.sort()).toEqual(licensed);
    for (const { name, version, purl } of components)
      expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    // One of the page, of the server, of the tool host and of queries.
    const names = components.map(({ name }) => name);
    for (const name of ['preact', '@modelcontextprotocol/client', 'zod', 'jsonata']) expect(names).toContain(name);
  });

  spec('CLI-37', 'has the schemas for editors', async () => {
    const program = "console.log(require('wield/schemas/config.json').title)";
    const { stdout } = await run(process.execPath, ['--eval', program], { cwd: project, env });
    expect(stdout).toBe('config.toml of wield\n');
  });

  finding('N21', 'has every file that its documents link to', () => {
    const documents = contents.filter((path) => path.endsWith('.md'));
    const missing = documents.flatMap((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const targets = [...text.matchAll(/\]\(([^)#\s:]+)(?:#[^)]*)?\)/g)].map((match) =>
        posix.join(posix.dirname(path), match[1]!),
      );
      return targets.filter((target) => !contents.some((file) => file === target || file.startsWith(`${target}/`)));
    });
    expect(documents).toContain('README.md');
    expect(documents.length).toBeGreaterThan(50);
    expect(missing).toEqual([]);
  });

  finding('N17 N22', 'test:quick runs what exists, and the supported versions of Node are named', () => {
    const paths = manifest.scripts['test:quick'].split('scripts/test.mjs ')[1].split(' ') as string[];
    for (const path of paths)
      expect(existsSync(join(ROOT, path.endsWith('/') ? path : `${path}.test.ts`)), path).toBe(true);
    for (const document of ['README.md', 'CONTRIBUTING.md'])
      expect(readFileSync(join(ROOT, document), 'utf8')).toContain('Node 20 (from 20.19), 22 or 24');
  });

  test('prints its version', async () => {
    expect(await wield('version')).toBe(`${manifest.version}\n`);
  });

  test('creates a first tool and calls it', async () => {
    expect(await wield('init')).toContain('created  .agents/tools/hello');
    expect(await wield('call', 'hello', '--name', 'Ada')).toBe('Hello, Ada!\n');
  });

  test('loads a standalone typed tool with the bundled wield and zod', async () => {
    const lone = join(root, 'lone');
    const text = `import { defineTool } from 'wield';
import { z } from 'zod';
export const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  inputSchema: z.object({ number: z.number() }),
  execute: ({ number }): number => number * 2,
});
`;
    mkdirSync(join(lone, '.agents', 'tools'), { recursive: true });
    writeFileSync(join(lone, '.agents', 'tools', 'double.tool.ts'), text);
    expect(await wield('--cwd', lone, 'call', '--trust', 'double', '--number', '21')).toBe('42\n');
  });

  test('every entry can be imported and exports something', async () => {
    const names = entries.map((entry) => entry.replace(/^\./, 'wield'));
    const program = `const empty = [];
      for (const name of ${JSON.stringify(names)})
        if (Object.keys(await import(name)).length === 0) empty.push(name);
      console.log(JSON.stringify(empty));`;
    const flags = ['--input-type=module', '--eval', program];
    const { stdout } = await run(process.execPath, flags, { cwd: project, env });
    expect(names.length).toBeGreaterThan(10);
    expect(JSON.parse(stdout)).toEqual([]);
  });

  test('is a server and a client of servers with what it declares only', async () => {
    const home = join(root, 'other-home');
    mkdirSync(join(home, '.agents'), { recursive: true });
    const start = `exec ${join(project, 'node_modules', '.bin', 'wield')} serve`;
    const server = { command: 'sh', args: ['-c', start], env: { HOME: env.HOME } };
    writeFileSync(join(home, '.agents', 'mcp.json'), JSON.stringify({ mcpServers: { other: server } }));
    const program = `import { createMcpHttp } from 'wield/mcp-server';
      import { createNodeToolbox } from 'wield/node';
      const toolbox = createNodeToolbox({ workdir: process.cwd(), trust: true });
      // Waits for the server, which a list does only for a while.
      const { text } = (await toolbox.call('other_hello', { name: 'Ada' })).content[0];
      const names = (await toolbox.list()).map(({ name }) => name).filter((name) => name.includes('hello'));
      const handler = createMcpHttp(toolbox, { version: '1', access: { host: '127.0.0.1' } });
      // A message that the SDK answers.
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping', params: { later: true } });
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', host: '127.0.0.1' };
      const response = await handler.fetch(new Request('http://127.0.0.1/mcp', { method: 'POST', headers, body }));
      console.log(JSON.stringify([names, text, response.status]));
      await handler.close();
      await toolbox.close();`;
    const flags = ['--input-type=module', '--eval', program];
    const { stdout } = await run(process.execPath, flags, { cwd: project, env: { ...env, HOME: home } });
    expect(JSON.parse(stdout)).toEqual([['other_hello', 'hello'], 'Hello, Ada!\n', 400]);
  });

  spec('SDK-12', 'has no ids of statements in its types', () => {
    const families = new Set(readStatements().map(({ id }) => id.replace(/-\d+$/, '')));
    const ids = `\\b(?:${[...families].join('|')})-\\d+|\\([A-Z]\\d+\\)`;
    const types = contents.filter((path) => path.endsWith('.d.ts'));
    const marked = types.filter((path) => new RegExp(ids).test(readFileSync(join(ROOT, path), 'utf8')));
    expect(types.length).toBeGreaterThan(100);
    expect(marked).toEqual([]);
  });

  describe.concurrent('has types', () => {
    beforeAll(() => {
      mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
      for (const name of ['@types/node', 'undici-types'])
        symlinkSync(join(ROOT, 'node_modules', name), join(project, 'node_modules', name));
      const program = readFileSync(join(ROOT, 'test/support/typed-program.ts'), 'utf8');
      const text = entries.reduce((here, entry) => {
        const source = manifest.exports[entry].default.replace('./dist/', '../../src/');
        return here.replace(`from '${source}'`, `from '${entry.replace(/^\./, 'wield')}'`);
      }, program);
      const all = entries.map((entry, at) => `export * as e${at} from '${entry.replace(/^\./, 'wield')}';`);
      for (const extension of ['mts', 'cts']) {
        writeFileSync(join(project, `program.${extension}`), text);
        writeFileSync(join(project, `all.${extension}`), all.join('\n'));
      }
    });
    const compile = async (files: string, flags: string): Promise<string> => {
      const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
      const args =
        `--strict --exactOptionalPropertyTypes --target es2023 --types node --noEmit ${flags} ${files}`.split(' ');
      const ended = run(process.execPath, [compiler, ...args], { cwd: project, env });
      return (await ended.catch((error: { stdout: string }) => error)).stdout;
    };

    for (const [way, file, flags] of [
      ['nodenext', 'program.mts all.mts', '--module nodenext'],
      ['node16', 'program.mts all.mts', '--module node16'],
      ['bundler', 'program.mts all.mts', '--module esnext --moduleResolution bundler'],
      ['nodenext, from CommonJS', 'program.cts all.cts', '--module nodenext'],
      ['node16, from CommonJS', 'program.cts all.cts', '--module node16'],
    ] as const)
      (way === 'nodenext' ? spec : spec.thorough)('SDK-13', `for ${way}`, async () => {
        expect(await compile(file, `${flags} --skipLibCheck`)).toBe('');
      });

    // Of a file that imports nothing else, because the compiler finds names in whatever a program imports.
    for (const entry of some(entries, 1))
      spec('SDK-13', `that a declaration of what ${entry} returns can name${SAMPLED}`, async () => {
        const from = entry.replace(/^\./, 'wield');
        const list = `import('${from}').then((all) => console.log(JSON.stringify(
          Object.keys(all).map((name) => [name, typeof all[name] === 'function' && !/^class/.test(all[name])]))))`;
        const { stdout } = await run(process.execPath, ['--eval', list], { cwd: project, env });
        const lines = (JSON.parse(stdout) as [string, boolean][]).map(([name, isFunction]) => {
          const call = `(...([] as unknown as Parameters<typeof all.${name}>))`;
          return `export const ${name} = all.${name}${isFunction ? call : ''};`;
        });
        const file = `returned-${entry.replace(/\W+/g, '')}.mts`;
        writeFileSync(join(project, file), [`import * as all from '${from}';`, ...lines].join('\n'));
        expect(await compile(file, '--module nodenext --skipLibCheck --declaration')).toBe('');
      });

    testThorough('that need no others, but those of Node', async () => {
      expect(await compile('all.mts', '--module nodenext')).toBe('');
      expect(await compile('all.cts', '--module node16')).toBe('');
    });
  });

  spec('SDK-13 PKG-2', 'is loaded by CommonJS with the names and objects of the ES modules', async () => {
    const names = entries.map((entry) => entry.replace(/^\./, 'wield'));
    const program = `(async () => {
      const same = async (name) => {
        const [required, imported] = [require(name), await import(name)];
        const keys = Object.keys(imported);
        return keys.length > 0 && keys.every((key) => required[key] === imported[key]);
      };
      for (const name of ${JSON.stringify(names)}) if (!(await same(name))) console.log(name);
    })();`;
    const { stdout, stderr } = await run(process.execPath, ['--input-type=commonjs', '--eval', program], {
      cwd: project,
      env,
    });
    expect(stdout).toBe('');
    expect(stderr).toBe('');
  });

  spec('PKG-2', 'passes publint', async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball));
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg as Record<string, unknown>))).toEqual([]);
  });

  spec.thorough('PKG-2', 'passes arethetypeswrong', async () => {
    const packed = createPackageFromTarballData(new Uint8Array(readFileSync(tarball)));
    const checked = await checkPackage(packed, { entrypoints: [...some(entries, 1)] });
    const problems = checked.types === false ? ['no types'] : checked.problems;
    // Resolution of Node 10 does not know `exports`, and TypeScript 7 does not have it.
    expect(
      problems.filter(
        (one) => typeof one === 'string' || !('resolutionKind' in one) || one.resolutionKind !== 'node10',
      ),
    ).toEqual([]);
  });
});

test('a script that runs some test files runs all of their tests', () => {
  const sampled = Object.entries<string>(manifest.scripts).filter(
    ([, command]) => /vitest run test\//.test(command) && !/WIELD_(ALL_TESTS|THOROUGH)=1/.test(command),
  );
  expect(sampled).toEqual([]);
});
