// Module files through the public doors: found, loaded, cached, edited, complained about.

import { spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../src/index.js';
import { BINARY, json, wield } from '../support/cli.js';
import { connectStdio } from '../support/clients.js';
import { createModuleWorkspace, type ModuleWorkspace, moduleText } from '../support/modules.js';
import { spec, specIf } from '../support/spec.js';

const NOTE = `import { defineTool } from "wield";
import { z } from "zod";

export const noteRead = defineTool({
  name: "note_read",
  description: "Read a note.",
  group: "note",
  inputSchema: z.object({ path: z.string().describe("Path"), limit: z.number().int().default(20) }),
  execute: async ({ path, limit }, context) => ({ path, limit, workdir: context.workdir }),
});
`;

const names = async (workspace: ModuleWorkspace): Promise<string[]> =>
  (await workspace.toolbox().list()).map((tool) => tool.name);
const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

describe('finding', () => {
  spec(
    'MOD-7',
    'a lone TypeScript file in a lone directory works, with wield and zod from nowhere',
    async () => {
      const workspace = createModuleWorkspace();
      workspace.module('note.tool.ts', NOTE);
      const [tool] = await workspace.toolbox().list();
      expect(tool).toMatchObject({
        name: 'note_read',
        description: 'Read a note.',
        traits: { group: 'note' },
      });
      expect(tool?.input.json).toMatchObject({
        properties: { path: { description: 'Path' }, limit: { default: 20 } },
        required: ['path'],
      });
      const run = await wield(workspace, ['call', 'note_read', '--path', 'a.md', '--json']);
      expect(json(run).structured).toEqual({ path: 'a.md', limit: 20, workdir: workspace.dir });
    },
  );

  spec('MOD-7', 'each ending loads, several definitions in one file too, and nothing else does', async () => {
    const workspace = createModuleWorkspace();
    for (const ending of ['ts', 'mts', 'js', 'mjs']) {
      workspace.module(`${ending}.tool.${ending}`, moduleText(`tool_${ending}`, `() => import.meta.url`));
    }
    workspace.module(
      'two.tool.ts',
      `const make = (name: string) => ({ name, description: 'D', execute: () => name });
export const one = make('one');
export const other = make('two');
export default one;
export const helper = 3;
`,
    );
    for (const other of ['plain.ts', 'x.tool.cjs', 'x.tool.test.ts', '.hidden.tool.ts', 'x.tool.tsx'])
      workspace.module(other, moduleText(`never_${other.replace(/\W/g, '_')}`, '() => 1'));
    expect((await names(workspace)).sort()).toEqual([
      'one',
      'tool_js',
      'tool_mjs',
      'tool_mts',
      'tool_ts',
      'two',
    ]);
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('two', {}))).toBe('two');
    expect(textOf(await toolbox.call('tool_mts', {}))).toMatch(/^file:.*\/mts.tool.mts$/);
  });

  spec('MOD-7', 'a module imports what its language and its project let it import', async () => {
    const workspace = createModuleWorkspace();
    workspace.write('node_modules/pad/package.json', '{ "name": "pad", "exports": { "import": "./x.mjs" } }');
    workspace.write('node_modules/pad/x.mjs', 'export const pad = (text) => "[" + text + "]";');
    workspace.write('node_modules/old/package.json', '{ "name": "old", "main": "x.cjs" }');
    workspace.write('node_modules/old/x.cjs', 'exports.old = () => "old";');
    workspace.write(
      'lib/shape.ts',
      'export interface Shape { x: number }\nexport enum Kind { Big = "big" }\n',
    );
    workspace.write('lib/data.json', '{ "answer": 42 }');
    workspace.write('lib/late.mjs', 'export const late = "late";');
    workspace.module(
      'all.tool.ts',
      `import { basename } from 'node:path';
import fs from 'fs';
import { pad } from 'pad';
import { old } from 'old';
import data from '../../lib/data.json' with { type: 'json' };
import { Kind, Shape } from '../../lib/shape.js';
import { twice } from './helper';

class Box { constructor(private readonly shape: Shape) {} get x(): number { return this.shape.x; } }
namespace Inner { export const word = 'inner'; }

export const all = {
  name: 'all',
  description: 'D',
  execute: async () => {
    const { late } = await import('../../lib/late.mjs');
    const real = typeof fs.readFileSync;
    return [pad('x'), old(), data.answer, Kind.Big, twice(new Box({ x: 2 }).x), Inner.word, late, real,
      basename(import.meta.filename)];
  },
};
`,
    );
    workspace.module('helper.ts', 'export const twice = (n: number): number => n * 2;');
    expect((await workspace.toolbox().call('all', {})).structured).toEqual([
      '[x]',
      'old',
      42,
      'big',
      4,
      'inner',
      'late',
      'function',
      'all.tool.ts',
    ]);
  });

  spec('MOD-7', "a project's own zod is used where it has one", async () => {
    const workspace = createModuleWorkspace();
    workspace.write('node_modules/zod/package.json', '{ "name": "zod", "main": "x.mjs" }');
    workspace.write('node_modules/zod/x.mjs', `export const z = "the project's own";`);
    workspace.module('which.tool.js', moduleText('which', '() => z', `import { z } from 'zod';`));
    expect(textOf(await workspace.toolbox().call('which', {}))).toBe("the project's own");
  });

  spec('MOD-14', 'a function with frontmatter is a tool: tags, visibility, role, params', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'send-mail.tool.ts',
      `export const frontmatter = {
  description: 'Send a mail.',
  metadata: {
    tags: ['API', 'Out Going'],
    visibility: 'hidden',
    role: 'action',
    params: { to: { type: 'string', description: 'Whom', required: true }, copies: { type: 'integer', default: 1 } },
  },
};
export function unrelated(): string { return 'no'; }
export function sendMail(input: { to: string; copies: number }): string { return \`\${input.to} x\${input.copies}\`; }
`,
    );
    workspace.module(
      'plain.tool.mjs',
      `export const frontmatter = { name: 'renamed', description: 'D' };\nexport function execute() { return 'ran'; }`,
    );
    workspace.module('bare.tool.mjs', `export const frontmatter = { description: 'D' };`);
    const toolbox = workspace.toolbox();
    expect((await toolbox.list()).map((tool) => tool.name)).toEqual(['renamed']);
    const tool = await toolbox.find('send-mail');
    expect(tool.traits).toMatchObject({ tags: ['api', 'out-going'], hidden: true, role: 'action' });
    expect(tool.input.json).toMatchObject({ required: ['to'], properties: { to: { description: 'Whom' } } });
    expect(textOf(await toolbox.call('send-mail', { to: 'Ada' }))).toBe('Ada x1');
    expect((await toolbox.call('send-mail', {})).error?.code).toBe('invalid_input');
    expect((await toolbox.call('renamed', { more: 1 })).error?.code).toBe('invalid_input');
    expect(textOf(await toolbox.call('renamed', {}))).toBe('ran');
    expect(await toolbox.problems()).toMatchObject([
      { path: expect.stringContaining('bare.tool.mjs'), message: expect.stringContaining('no function') },
    ]);
  });

  spec('MOD-10', 'adding a typed tool is one file: the model, the shell and the help have it', async () => {
    const workspace = createModuleWorkspace();
    const before = filesBelow(workspace.dir);
    workspace.module('note.tool.ts', NOTE);
    expect(filesBelow(workspace.dir).filter((file) => !before.includes(file))).toEqual([
      join(workspace.dir, '.agents/tools/note.tool.ts'),
    ]);
    const client = await connectStdio(workspace, 'newer', []);
    const { tools } = await client.listTools();
    expect(tools).toMatchObject([{ name: 'note_read', inputSchema: { required: ['path'] } }]);
    const called = await client.callTool({ name: 'note_read', arguments: { path: 'a.md' } });
    expect(called.content).toMatchObject([{ text: expect.stringContaining('"limit":20') }]);
    const help = await wield(workspace, ['call', 'note_read', '--help']);
    expect(help.stdout).toContain('Path');
    expect(
      (await wield(workspace, ['call', 'note_read', '--path', 'a.md', '--limit', '5'])).stdout,
    ).toContain('"limit":5');
    expect(filesBelow(workspace.dir)).toHaveLength(before.length + 1);
  });
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

  spec('MOD-8', 'listing loads a module once, whoever lists, until its content changes', async () => {
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

  spec('MOD-8', 'an edit is seen by the next call, in the file and in what it imports', async () => {
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

  spec('MOD-8', 'what is kept is private, and what was altered is made anew and never run', async () => {
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

  spec('MOD-8', 'two hundred modules are loaded by one host, and listed later by none', async () => {
    const workspace = createModuleWorkspace();
    for (let at = 0; at < 200; at++) {
      const record = `import { appendFileSync } from 'node:fs';\nappendFileSync('${workspace.dir}/pids', process.pid + ' ');`;
      workspace.module(`m${at}.tool.mjs`, moduleText(`tool_${at}`, '() => 1', record));
    }
    const said: string[] = [];
    const debug = (message: string): void => void said.push(message);
    expect(await workspace.toolbox({ debug }).list()).toHaveLength(200);
    const pids = readFileSync(join(workspace.dir, 'pids'), 'utf8').trim().split(' ');
    expect([pids.length, new Set(pids).size]).toEqual([200, 1]);
    expect(said.filter((message) => message.includes('companion'))).toHaveLength(1);
    said.length = 0;
    expect(await workspace.toolbox({ debug }).list()).toHaveLength(200);
    expect(said.filter((message) => message.includes('companion'))).toEqual([]);
  });
});

describe('problems', () => {
  spec(
    'MOD-9',
    'a module that cannot be loaded is a problem with file, line and message; the rest loads',
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
        'import.tool.mjs': [`import './nowhere.mjs';`, /no file .\/nowhere.mjs/],
        'package.tool.mjs': [`import 'no-such-package-here';`, /Cannot find package 'no-such-package-here'/],
        'export.tool.mjs': [
          `import { nothing } from 'node:fs';`,
          /does not provide an export named 'nothing'/,
        ],
        'empty.tool.mjs': ['export const a = 1;', /exports no tool/],
        'exits.tool.mjs': ['process.exit(3);', /ends its process while it loads.*status 3/],
        'below.tool.mjs': [`import './broken.mjs';`, /broken.mjs:2: Error: from below/],
        'twice.tool.mjs': [
          `${moduleText('same', '() => 1')}${moduleText('same', '() => 2').replace('const tool', 'const more')}`,
          /two tools of the name "same"/,
        ],
        'invalid.tool.mjs': [
          `${moduleText('fine', '() => 1')}export const bad = { name: 'b d', description: 'D', execute() {} };
export const half = { name: 'half', inputSchema: {} };`,
          /export "bad": b d: name/,
        ],
      };
      workspace.module('broken.mjs', `\nthrow new Error('from below');`);
      for (const [file, [text]] of Object.entries(cases)) workspace.module(file, text);
      const survey = await workspace.toolbox().survey();
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

  spec('MOD-9', 'a module that failed for want of a package is tried again by the next process', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'late.tool.mjs',
      moduleText('late', '() => word', `import { word } from 'late-package';`),
    );
    expect(await names(workspace)).toEqual([]);
    workspace.write('node_modules/late-package/package.json', '{ "name": "late-package", "main": "x.mjs" }');
    workspace.write('node_modules/late-package/x.mjs', 'export const word = "here";');
    expect(textOf(await workspace.toolbox().call('late', {}))).toBe('here');
  });

  spec('MOD-9', 'a module that never finishes loading costs ten seconds and itself', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('a-hangs.tool.mjs', 'for (;;);');
    workspace.module('b-good.tool.mjs', moduleText('good', '() => 1'));
    const toolbox = workspace.toolbox();
    const survey = await toolbox.survey();
    expect(survey.tools.map((tool) => tool.name)).toEqual(['good']);
    expect((await toolbox.call('good', {})).meta.durationMs).toBeLessThan(5000);
    expect(survey.problems).toMatchObject([
      {
        path: expect.stringContaining('a-hangs'),
        message: expect.stringMatching(/does not finish loading within 10 s/),
      },
    ]);
  });

  spec('MOD-7 MOD-9', 'a link to a module is one, a directory and a dead link are none', async () => {
    const workspace = createModuleWorkspace();
    const real = workspace.write('elsewhere/real.mjs', moduleText('linked', '() => 1'));
    mkdirSync(join(workspace.dir, '.agents/tools/folder.tool.ts'), { recursive: true });
    symlinkSync(real, join(workspace.dir, '.agents/tools/linked.tool.mjs'));
    symlinkSync('/nowhere', join(workspace.dir, '.agents/tools/dead.tool.mjs'));
    const survey = await workspace.toolbox().survey();
    expect(survey.tools.map((tool) => tool.name)).toEqual(['linked']);
    expect(survey.problems).toMatchObject([{ path: expect.stringContaining('dead.tool.mjs') }]);
  });
});

const SCRIPT = '/usr/bin/script';

specIf(existsSync(SCRIPT), 'there is no script(1)', 'MOD-5', 'at a terminal a person is asked', async () => {
  const workspace = createModuleWorkspace();
  workspace.module(
    'asks.tool.mjs',
    moduleText('asks', `async (_, { ask }) => 'heard ' + (await ask('Which colour?'))`),
  );
  const said = await new Promise<string>((resolve) => {
    const command = `'${process.execPath}' '${BINARY}' call asks`;
    const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], { cwd: workspace.dir, env: workspace.env });
    let all = '';
    child.stdout.on('data', (chunk: Buffer) => {
      if (!all.includes('colour?') && `${all}${chunk}`.includes('colour?')) child.stdin.write('blue\n');
      all += chunk;
    });
    child.once('close', () => resolve(all));
  });
  expect(said).toContain('Which colour?');
  expect(said).toContain('heard blue');
});
