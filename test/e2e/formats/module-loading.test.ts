// Loading modules: once per content, in one host, with file and line for every problem.

import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { rounds } from '../../support/effort.js';
import { BLOCK, createModuleWorkspace, type ModuleWorkspace, moduleText } from '../../support/modules.js';
import { patience } from '../../support/patience.js';
import { spec } from '../../support/spec.js';

const names = async (workspace: ModuleWorkspace): Promise<string[]> =>
  (await workspace.toolbox().list()).map((tool) => tool.name);
const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

// More than the hosts that run at once.
const MANY = rounds(10, 60);

spec('TOOL-7', 'a large import is loaded whole, and is part of the digest', async () => {
  const workspace = createModuleWorkspace();
  workspace.module('large.tool.ts', moduleText('large', '() => part', "import { part } from './part.js';"));
  const digests = new Set<string | null>();
  for (const part of ['a', 'b']) {
    workspace.module('part.js', `/*${' '.repeat(5 * 1024 * 1024)}*/ export const part = '${part}';`);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('large', {}))).toBe(part);
    digests.add((await toolbox.find('large')).origin.digest);
  }
  expect(digests.size).toBe(2);
});

describe('caching', () => {
  const COUNTED = (word: string): string =>
    moduleText(
      'counted',
      `() => '${word} ' + part`,
      `import { appendFileSync } from 'node:fs';
import { part } from './part.js';
appendFileSync(import.meta.dirname + '/../../loads', 'x');`,
    );
  const loads = (workspace: ModuleWorkspace): number => {
    try {
      return readFileSync(join(workspace.dir, 'loads'), 'utf8').length;
    } catch {
      return 0;
    }
  };

  spec.thorough('MOD-8', 'loads a module once for all listings until its content changes', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('counted.tool.ts', COUNTED('one'));
    workspace.module('part.ts', `export const part: string = 'a';`);
    for (let round = 0; round < 3; round++) {
      expect(await names(workspace)).toEqual(['counted']);
      expect((await wield(workspace, ['list'])).stdout).toContain('About counted.');
    }
    expect(loads(workspace)).toBe(1);
    workspace.module('counted.tool.ts', COUNTED('one'));
    expect(await names(workspace)).toEqual(['counted']);
    expect(loads(workspace)).toBe(1);
    workspace.module('part.ts', `export const part: string = 'b';`);
    expect(await names(workspace)).toEqual(['counted']);
    expect(loads(workspace)).toBe(2);
  });

  spec.thorough('MOD-8', 'sees an edit of the file or its imports at the next call', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('counted.tool.ts', COUNTED('one'));
    workspace.module('part.ts', `export const part: string = 'a';`);
    const toolbox = workspace.toolbox();
    const say = async (): Promise<string> => textOf(await toolbox.call('counted', {}));
    const digest = async () => (await toolbox.find('counted')).origin.digest;
    expect(await say()).toBe('one a');
    const first = await digest();
    workspace.module('part.ts', `export const part: string = 'b';`);
    expect(await say()).toBe('one b');
    const second = await digest();
    workspace.module('counted.tool.ts', COUNTED('two'));
    expect(await say()).toBe('two b');
    expect(new Set([first, second, await digest()]).size).toBe(3);
    expect(loads(workspace)).toBeGreaterThanOrEqual(3);
  });

  // POL-23: a standing approval is bound to this digest.
  spec('TOOL-6 MOD-8', 'sees an edit of CommonJS files, however they are required', async () => {
    const workspace = createModuleWorkspace();
    const files: Readonly<Record<string, string>> = {
      'c.cjs':
        'module.exports = () => [require("./sub.cjs"), require ( /* x */ "./part").part, require(`./data`).a, require("./dir")]',
      'sub.cjs': 'module.exports = 1',
      'part.js': 'exports.part = 1',
      'part.ts': 'export const part = "not this one"',
      'data.json': '{ "a": 1 }',
      'dir/package.json': '{ "main": "lib/x" }',
      'dir/lib/x.js': 'module.exports = 1',
      'made.cjs': 'module.exports = 1',
      'named.js': 'module.exports = 1',
    };
    for (const [name, text] of Object.entries(files)) workspace.write(`lib/${name}`, text);
    workspace.module(
      'all.tool.ts',
      moduleText(
        'all',
        '() => [...c(), made, named].join()',
        `import { createRequire } from 'node:module';
import c from '../../lib/c.cjs';
const made = createRequire(import.meta.url)('../../lib/made.cjs');
const load = createRequire(import.meta.url);
const named = load('../../lib/named');`,
      ),
    );
    const toolbox = workspace.toolbox();
    const digest = async () => (await toolbox.find('all')).origin.digest;
    const digests = [await digest()];
    expect(textOf(await toolbox.call('all', {}))).toBe('1,1,1,1,1,1');
    for (const name of ['sub.cjs', 'part.js', 'data.json', 'dir/lib/x.js', 'made.cjs', 'named.js']) {
      workspace.write(`lib/${name}`, files[name]!.replace(/1/, '2'));
      digests.push(await digest());
    }
    workspace.write('lib/other.js', 'module.exports = 3');
    workspace.write('lib/dir/package.json', '{ "main": "../other.js" }');
    digests.push(await digest());
    expect(new Set(digests).size).toBe(8);
    expect(textOf(await toolbox.call('all', {}))).toBe('2,2,2,3,2,2');
  });

  spec('MOD-8', 'writes private files, and never runs altered ones', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('note.tool.ts', moduleText('word', `(): string => 'true'`));
    expect(textOf(await workspace.toolbox().call('word', {}))).toBe('true');
    const cache = join(workspace.env.WIELD_HOME!, 'cache', 'modules');
    const kept = filesBelow(cache);
    expect(kept.map((file) => statSync(file).mode & 0o777)).toEqual(kept.map(() => 0o600));
    const code = kept.filter((file) => file.endsWith('.code'));
    const descriptions = kept.filter((file) => file.endsWith('.json'));
    expect([code.length, descriptions.length]).toEqual([1, 1]);
    for (const [file, from, to] of [
      [code[0]!, "'true'", "'forged'"],
      [descriptions[0]!, 'About word.', 'Forged.'],
    ] as const) {
      const text = readFileSync(file, 'utf8');
      expect(text).toContain(from);
      writeFileSync(file, text.replaceAll(from, to));
      const toolbox = workspace.toolbox();
      expect((await toolbox.list())[0]?.description).toBe('About word.');
      expect(textOf(await toolbox.call('word', {}))).toBe('true');
      expect(readFileSync(file, 'utf8')).toBe(text);
      writeFileSync(file, '{');
      expect(textOf(await workspace.toolbox().call('word', {}))).toBe('true');
    }
  });

  spec.thorough(
    'MOD-8 MOD-29',
    `loads each of ${MANY} modules once in its own host, and lists them later without a host`,
    async () => {
      const workspace = createModuleWorkspace();
      for (let at = 0; at < MANY; at++) {
        const record = `import { appendFileSync } from 'node:fs';\nappendFileSync('${workspace.dir}/pids', process.pid + ' ');`;
        workspace.module(`m${at}.tool.mjs`, moduleText(`tool_${at}`, '() => 1', record));
      }
      const said: string[] = [];
      const debug = (message: string): void => void said.push(message);
      expect(await workspace.toolbox({ debug }).list()).toHaveLength(MANY);
      const pids = readFileSync(join(workspace.dir, 'pids'), 'utf8').trim().split(' ');
      expect([pids.length, new Set(pids).size]).toEqual([MANY, MANY]);
      expect(said.filter((message) => message.includes('companion'))).toHaveLength(MANY);
      said.length = 0;
      expect(await workspace.toolbox({ debug }).list()).toHaveLength(MANY);
      expect(said.filter((message) => message.includes('companion'))).toEqual([]);
    },
  );
});

describe('problems', () => {
  spec.thorough(
    'MOD-9',
    'reports a module that fails to load with file, line and message, and loads the rest',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.module('good.tool.mjs', moduleText('good', '() => 1'));
      const cases: Record<string, [text: string, message: RegExp]> = {
        'throws.tool.ts': [
          `interface Unused { a: string }\n\nconst value: string | undefined = undefined;\nvalue!.length;\n`,
          /throws.tool.ts:4: TypeError: Cannot read properties of undefined/,
        ],
        'syntax.tool.ts': ['export const a = 1;\nexport const = 2;\n', /syntax.tool.ts:2: SyntaxError/],
        'syntax.tool.js': ['export const a = 1;\n\nexport const = 2;\n', /syntax.tool.js:3: SyntaxError/],
        'import.tool.mjs': [`import './nowhere.mjs';`, /file not found: .\/nowhere.mjs/],
        'package.tool.mjs': [`import 'no-such-package-here';`, /Cannot find package 'no-such-package-here'/],
        'export.tool.mjs': [`import { nothing } from 'node:fs';`, /does not provide an export named 'nothing'/],
        'empty.tool.mjs': ['export const a = 1;', /exports no tool/],
        'exits.tool.mjs': ['process.exit(3);', /ends its process while loading.*status 3/],
        'below.tool.mjs': [`import './broken.mjs';`, /broken.mjs:2: Error: from below/],
        'twice.tool.mjs': [
          `${moduleText('same', '() => 1')}${moduleText('same', '() => 2').replace('const tool', 'const more')}`,
          /two tools named "same"/,
        ],
        'invalid.tool.mjs': [
          `${moduleText('fine', '() => 1')}export const bad = { name: 'b d', description: 'D', execute() {} };
export const half = { name: 'half', inputSchema: {} };`,
          /export "bad": b d: name/,
        ],
      };
      workspace.module('broken.mjs', `\nthrow new Error('from below');`);
      for (const [file, [text]] of Object.entries(cases)) workspace.module(file, text);
      const survey = await workspace.toolbox().catalog.survey();
      expect(survey.tools.map((tool) => tool.name)).toEqual(['fine', 'good', 'same']);
      const told = (file: string): string =>
        survey.problems
          .filter(({ path }) => path.endsWith(`/${file}`))
          .map(({ message }) => message)
          .join('\n');
      for (const [file, [, message]] of Object.entries(cases)) expect(told(file), file).toMatch(message);
      expect(survey.problems.every(({ severity, hint }) => severity === 'error' && hint !== '')).toBe(true);
      expect(survey.problems.find(({ path }) => path.includes('package.tool'))?.hint).toBe(
        'npm install no-such-package-here',
      );
      const doctor = await wield(workspace, ['doctor']);
      expect(doctor.status).toBe(1);
      expect(doctor.stdout).toContain('throws.tool.ts:4');
    },
  );

  spec('MOD-9', 'retries a module with a missing package in the next process', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('late.tool.mjs', moduleText('late', '() => word', `import { word } from 'late-package';`));
    expect(await names(workspace)).toEqual([]);
    workspace.write('node_modules/late-package/package.json', '{ "name": "late-package", "main": "x.mjs" }');
    workspace.write('node_modules/late-package/x.mjs', 'export const word = "here";');
    expect(textOf(await workspace.toolbox().call('late', {}))).toBe('here');
  });

  spec.thorough('MOD-9', 'gives up on a module that does not finish loading after ten seconds', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('a-hangs.tool.mjs', BLOCK);
    workspace.module('b-good.tool.mjs', moduleText('good', '() => 1'));
    const toolbox = workspace.toolbox();
    const survey = await toolbox.catalog.survey();
    expect(survey.tools.map((tool) => tool.name)).toEqual(['good']);
    expect((await toolbox.call('good', {})).meta.durationMs).toBeLessThan(patience(9500));
    expect(survey.problems).toMatchObject([
      {
        path: expect.stringContaining('a-hangs'),
        message: expect.stringMatching(/does not finish loading within 10 s/),
      },
    ]);
  });

  spec('MOD-7 MOD-9', 'accepts a link to a module, but not a directory or a broken link', async () => {
    const workspace = createModuleWorkspace();
    const real = workspace.write('elsewhere/real.mjs', moduleText('linked', '() => 1'));
    mkdirSync(join(workspace.dir, '.agents/tools/folder.tool.ts'), { recursive: true });
    symlinkSync(real, join(workspace.dir, '.agents/tools/linked.tool.mjs'));
    symlinkSync('/nowhere', join(workspace.dir, '.agents/tools/dead.tool.mjs'));
    const survey = await workspace.toolbox().catalog.survey();
    expect(survey.tools.map((tool) => tool.name)).toEqual(['linked']);
    expect(survey.problems).toMatchObject([{ path: expect.stringContaining('dead.tool.mjs') }]);
  });
});
