// Links out of an untrusted checkout: nothing behind them is read, listed or watched.

import { spawn } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished } from 'vitest';
import { json, wield } from '../support/cli.js';
import { some } from '../support/effort.js';
import { serveHere } from '../support/serve.js';
import { finding } from '../support/spec.js';
import { createWorkspace, LATER, type Workspace } from '../support/workspace.js';

const SECRET = 'canary-7d1f';
const SKILL = `---\nname: leak\ndescription: About ${SECRET}.\n---\nBody ${SECRET}.\n`;
const SCRIPT = `#!/bin/sh\n# @description Print ${SECRET}.\necho ${SECRET}\n`;
const TOOLS = {
  tools: [{ name: 'leak', description: `Use ${SECRET}.`, parameters: { type: 'object', properties: {} } }],
  allowlist: { echo: [''] },
  execution: [{ tool: 'leak', binary: 'echo', subcommand: '', args: [] }],
};
const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

interface Checkout extends Workspace {
  /** A directory beside the workspace. */
  readonly outside: string;
  /** Writes a file outside and returns its path. */
  hide(name: string, text: string, mode?: number): string;
  /** Creates a link in the workspace. */
  link(name: string, target: string): void;
}

function createCheckout(): Checkout {
  const workspace = createWorkspace();
  const outside = join(dirname(workspace.dir), 'outside');
  return {
    ...workspace,
    outside,
    hide(name, text, mode = 0o644) {
      const path = join(outside, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      chmodSync(path, mode);
      return path;
    },
    link(name, target) {
      const path = join(workspace.dir, name);
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync(target, path);
    },
  };
}

// Everything that a person and a model can see of a workspace.
async function survey(checkout: Workspace): Promise<string> {
  const commands = [
    ['list', '--hidden', '--json'],
    ['doctor', '--json'],
    ['check', '--json'],
    ['config', '--json'],
    ['mcp', '--json'],
    ['show', 'leak'],
    ['call', 'leak'],
    ['call', './leak'],
  ];
  const texts: string[] = [];
  for (const args of commands) {
    const { stdout, stderr } = await wield(checkout, args, { now: LATER });
    texts.push(stdout, stderr);
  }
  const toolbox = checkout.toolbox();
  texts.push(await toolbox.workspace.instructions());
  texts.push(JSON.stringify(await toolbox.call('read_skill', { skill_name: 'leak' }, MODEL)));
  texts.push(JSON.stringify(await toolbox.call('leak', {}, MODEL)));
  return texts.join('\n');
}

const problemsOf = async (checkout: Workspace): Promise<{ path?: string; message: string; hint: string }[]> => {
  const { problems } = json(await wield(checkout, ['list', '--json']));
  const more = json(await wield(checkout, ['doctor', '--json'])).problems;
  return [...problems, ...more];
};

/** How to plant a link, and the file that the problem must name. Without a secret, only the problem is checked. */
interface Case {
  readonly names: string;
  readonly plant: (checkout: Checkout) => void;
  readonly isSilent?: boolean;
}

const CASES: Record<string, Case> = {
  'the file of a skill': {
    names: '.agents/skills/leak/SKILL.md',
    plant: ({ hide, link }) => link('.agents/skills/leak/SKILL.md', hide('x.md', SKILL)),
  },
  'the directory of a skill': {
    names: '.agents/skills/leak',
    plant: ({ hide, link }) => link('.agents/skills/leak', dirname(hide('leak/SKILL.md', SKILL))),
  },
  '.agents/skills': {
    names: '.agents/skills',
    plant: ({ hide, link }) => link('.agents/skills', dirname(dirname(hide('all/leak/SKILL.md', SKILL)))),
  },
  '.agents': {
    names: '.agents',
    plant({ hide, link, outside }) {
      hide('skills/leak/SKILL.md', SKILL);
      link('.agents', outside);
    },
  },
  'another directory of the search path': {
    names: 'skills',
    plant: ({ hide, link }) => link('skills', dirname(dirname(hide('all/leak/SKILL.md', SKILL)))),
  },
  'a link to a link': {
    names: '.agents/skills/leak/SKILL.md',
    plant({ dir, hide, link }) {
      link('docs/second', hide('x.md', SKILL));
      link('docs/first', 'second');
      link('.agents/skills/leak/SKILL.md', join(dir, 'docs/first'));
    },
  },
  '.. behind a linked directory': {
    names: '.agents/skills/leak/SKILL.md',
    plant({ hide, link }) {
      hide('x.md', SKILL);
      link('vendor', dirname(hide('deep/file', '')));
      link('.agents/skills/leak/SKILL.md', '../../../vendor/../x.md');
    },
  },
  'a script': {
    names: '.agents/tools/leak',
    plant: ({ hide, link }) => link('.agents/tools/leak', hide('x', SCRIPT, 0o755)),
  },
  '.agents/tools': {
    names: '.agents/tools',
    plant: ({ hide, link }) => link('.agents/tools', dirname(hide('bin/leak', SCRIPT, 0o755))),
  },
  'a tools.json': {
    names: '.agents/skills/leak/tools.json',
    plant: ({ hide, link }) => link('.agents/skills/leak/tools.json', hide('x.json', JSON.stringify(TOOLS))),
  },
  'one file of a split tools.json': {
    names: '.agents/skills/leak/execution.json',
    plant({ hide, link, write }) {
      write('.agents/skills/leak/tools.json', JSON.stringify(TOOLS.tools).replace(SECRET, 'it'));
      write('.agents/skills/leak/allowlist.json', JSON.stringify(TOOLS.allowlist));
      const execution = [{ tool: 'leak', binary: 'echo', subcommand: '', args: [{ value: SECRET }] }];
      link('.agents/skills/leak/execution.json', hide('x.json', JSON.stringify(execution)));
    },
    isSilent: true,
  },
  'the SKILL.md beside a tools.json': {
    names: '.agents/skills/leak/SKILL.md',
    plant({ hide, link, write }) {
      write('.agents/skills/leak/tools.json', JSON.stringify(TOOLS).replace(SECRET, 'it'));
      link('.agents/skills/leak/SKILL.md', hide('x.md', SKILL));
    },
  },
  'a module': {
    names: '.agents/tools/leak.tool.js',
    plant: ({ hide, link }) => link('.agents/tools/leak.tool.js', hide('x.js', 'export default {};\n')),
    isSilent: true,
  },
  'an import of a module': {
    names: '.agents/tools/lib.js',
    plant({ hide, link, write }) {
      write('.agents/tools/leak.tool.js', "import x from './lib.js';\nexport default x;\n");
      link('.agents/tools/lib.js', hide('x.js', 'export default {};\n'));
    },
    isSilent: true,
  },
  'an import of inline code': {
    names: '.agents/skills/leak/lib.js',
    plant({ hide, link, write }) {
      const code = "import x from './lib.js'; export default () => x;";
      const metadata = `metadata:\n  delegate:\n    code: "${code}"\n`;
      write('.agents/skills/leak/SKILL.md', `---\nname: leak\ndescription: Run.\n${metadata}---\n`);
      link('.agents/skills/leak/lib.js', hide('x.js', 'export default 1;\n'));
    },
    isSilent: true,
  },
  'the configuration': {
    names: '.agents/config.toml',
    plant: ({ hide, link }) => link('.agents/config.toml', hide('x.toml', `[tools.${SECRET}]\ntimeout = "1s"\n`)),
  },
  '.mcp.json': {
    names: '.mcp.json',
    plant: ({ hide, link }) =>
      link('.mcp.json', hide('x.json', JSON.stringify({ mcpServers: { [SECRET]: { command: 'true' } } }))),
  },
  '.agents/mcp.json': {
    names: '.agents/mcp.json',
    plant: ({ hide, link }) =>
      link('.agents/mcp.json', hide('x.json', JSON.stringify({ mcpServers: { [SECRET]: { command: 'true' } } }))),
  },
};

describe('links out of an untrusted checkout', () => {
  for (const [title, { plant, names, isSilent = false }] of some(Object.entries(CASES), 4)) {
    finding('B11 RES-46', `A20 ${title} is not read, and is a problem until the workspace is trusted`, async () => {
      const checkout = createCheckout();
      plant(checkout);
      expect(await survey(checkout)).not.toContain(SECRET);
      const problem = (await problemsOf(checkout)).find(({ message }) => message.includes('outside the workspace'));
      expect(problem).toMatchObject({ hint: expect.stringContaining('wield trust') });
      expect(`${problem?.path} ${problem?.message}`).toContain(join(checkout.dir, names));
      expect(problem?.message).toContain(checkout.outside);
      expect((await wield(checkout, ['trust', '--yes'])).status).toBe(0);
      if (!isSilent) expect(await survey(checkout)).toContain(SECRET);
      expect(JSON.stringify(await problemsOf(checkout))).not.toContain('outside the workspace');
      // Revoking trust takes it back, in a toolbox that has read it too.
      const toolbox = checkout.toolbox({ now: LATER });
      await toolbox.catalog.survey();
      expect((await wield(checkout, ['trust', '--revoke'])).status).toBe(0);
      expect(JSON.stringify(await toolbox.list())).not.toContain(SECRET);
      expect(await survey(checkout)).not.toContain(SECRET);
    });
  }

  finding('B11 RES-46', 'A20 a model gets neither the description nor the text over MCP', async () => {
    const checkout = createCheckout();
    checkout.link('.agents/skills/leak/SKILL.md', checkout.hide('x.md', SKILL));
    checkout.write('.agents/skills/own/SKILL.md', SKILL.replaceAll('leak', 'own').replaceAll(SECRET, 'own'));
    const server = serveHere(checkout, { args: [] });
    const answers: unknown[] = [await server.initialize()];
    answers.push(await server.request(1, 'tools/list', {}));
    for (const name of ['leak', 'own'])
      answers.push(await server.request(name, 'tools/call', { name: 'read_skill', arguments: { skill_name: name } }));
    await server.close();
    expect(JSON.stringify(answers)).not.toContain(SECRET);
    expect(JSON.stringify(answers.at(-1))).toContain('Body own');
  });

  finding(
    'B11 RES-46',
    'A20 a path does not lead out by a link of the checkout, on whatever way it was reached',
    async () => {
      const checkout = createCheckout();
      const target = checkout.hide('bin/run', SCRIPT, 0o755);
      checkout.link('run', target);
      checkout.link('bin', dirname(target));
      const alias = join(checkout.home, 'alias');
      symlinkSync(checkout.dir, alias);
      for (const path of [
        './run',
        './bin/run',
        join(checkout.dir, 'run'),
        join(alias, 'run'),
        join(alias, 'bin/run'),
      ]) {
        const run = await wield(checkout, ['call', path]);
        expect(run.status, path).toBe(3);
        expect(run.stderr, path).toContain('outside the workspace');
        expect(run.stdout + run.stderr, path).not.toContain(SECRET);
      }
      // A person who names the file itself gets it.
      expect((await wield(checkout, ['call', target])).stdout).toContain(SECRET);
    },
  );

  finding('B11 RES-46', 'A20 the index of a library is not read through a link', async () => {
    const checkout = createCheckout();
    const hidden = checkout.hide('lib/leak/SKILL.md', SKILL);
    const own = checkout.write('lib/leak/SKILL.md', SKILL.replaceAll(SECRET, 'x'.repeat(SECRET.length)));
    const paths = [{ external: 'lib' }];
    const toolbox = checkout.toolbox({ paths, now: LATER });
    for (const path of [hidden, own]) utimesSync(path, 1_700_000_000, 1_700_000_000);
    const { file } = await toolbox.state.shippedIndex.write(join(checkout.outside, 'lib'));
    checkout.link('lib/.wield-index', file);
    expect(JSON.stringify(await toolbox.list())).not.toContain(SECRET);
    const trusted = checkout.toolbox({ paths, now: LATER, trust: true });
    expect(JSON.stringify(await trusted.list())).toContain(SECRET);
  });

  finding('B11 RES-46', 'A20 a skill above a tool does not govern it from outside', async () => {
    const checkout = createCheckout();
    checkout.script('fine', '#!/bin/sh\n# @description Fine.\necho fine\n');
    checkout.link('SKILL.md', checkout.hide('x.md', SKILL.replace('\n---\nB', `\nallowed-tools: ${SECRET}\n---\nB`)));
    const authority = async (trust: boolean) =>
      JSON.stringify(
        await checkout
          .toolbox({ trust })
          .catalog.authority('fine')
          .catch(({ message }) => message),
      );
    expect(await authority(false)).not.toContain(SECRET);
    expect(await authority(true)).toContain(SECRET);
  });

  finding('B11 RES-46', 'A20 directories behind a link are not watched', async () => {
    const checkout = createCheckout();
    const tool = checkout.hide('bin/leak', SCRIPT, 0o755);
    checkout.link('.agents/tools', dirname(tool));
    const toolbox = checkout.toolbox();
    let changes = 0;
    onTestFinished(toolbox.catalog.watch(() => changes++));
    writeFileSync(join(dirname(tool), 'more'), '');
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(changes).toBe(0);
    // The link itself is.
    rmSync(join(checkout.dir, '.agents/tools'));
    checkout.script('own', SCRIPT.replaceAll(SECRET, 'own'));
    await expect.poll(() => changes).toBeGreaterThan(0);
    expect((await toolbox.list()).map(({ name }) => name)).toContain('own');
  });
});

describe('links that are exchanged', () => {
  finding('B11 RES-46', 'A21 a file that becomes a link after it was listed is not read', async () => {
    const checkout = createCheckout();
    const file = checkout.write('.agents/skills/leak/SKILL.md', SKILL.replaceAll(SECRET, 'own'));
    const script = checkout.script('run', SCRIPT.replaceAll(SECRET, 'own'));
    const toolbox = checkout.toolbox({ now: LATER });
    const read = async () => JSON.stringify(await toolbox.call('read_skill', { skill_name: 'leak' }, MODEL));
    expect(await read()).toContain('Body own');
    expect((await toolbox.call('run', {})).ok).toBe(true);
    for (const [path, text, mode] of [
      [file, SKILL, 0o644],
      [script, SCRIPT, 0o755],
    ] as const) {
      rmSync(path);
      symlinkSync(checkout.hide(`${mode}`, text, mode), path);
    }
    expect(await read()).not.toContain(SECRET);
    expect(JSON.stringify(await toolbox.call('run', {}))).not.toContain(SECRET);
    expect(JSON.stringify(await toolbox.list())).not.toContain(SECRET);
  });

  finding.thorough('B11 RES-46', 'A21 a link that another process keeps exchanging never leads out', async () => {
    const checkout = createCheckout();
    checkout.write('own/SKILL.md', SKILL.replaceAll(SECRET, 'own'));
    const hidden = dirname(checkout.hide('all/SKILL.md', SKILL));
    checkout.link('.agents/skills/leak', join(checkout.dir, 'own'));
    const flip = `
      const { symlinkSync, renameSync } = require('node:fs');
      const [link, ...targets] = process.argv.slice(1);
      for (let at = 0; ; at++) { symlinkSync(targets[at % 2], link + '~'); renameSync(link + '~', link); }`;
    const link = join(checkout.dir, '.agents/skills/leak');
    const child = spawn(process.execPath, ['-e', flip, link, join(checkout.dir, 'own'), hidden], { stdio: 'ignore' });
    onTestFinished(() => void child.kill('SIGKILL'));
    const toolbox = checkout.toolbox();
    let own = 0;
    for (let round = 0; round < 150; round++) {
      const result = await toolbox.call('read_skill', { skill_name: 'leak' }, MODEL);
      const text = JSON.stringify([result, await toolbox.list()]);
      expect(text).not.toContain(SECRET);
      if (text.includes('Body own')) own++;
      else await new Promise((resolve) => setImmediate(resolve));
    }
    expect(own).toBeGreaterThan(0);
  });
});

describe('links that are followed', () => {
  finding('B11 RES-46', 'links inside the workspace, in the home directory and to the workspace itself', async () => {
    const checkout = createCheckout();
    checkout.write('shared/inner/SKILL.md', SKILL.replaceAll('leak', 'inner'));
    checkout.link('.agents/skills/inner', '../../shared/inner');
    mkdirSync(join(checkout.home, '.agents/skills'), { recursive: true });
    const own = dirname(checkout.hide('users/SKILL.md', SKILL.replaceAll('leak', 'users')));
    symlinkSync(own, join(checkout.home, '.agents/skills/users'));
    const alias = join(checkout.home, 'alias');
    symlinkSync(checkout.dir, alias);
    for (const workdir of [checkout.dir, alias]) {
      const toolbox = checkout.toolbox({ workdir });
      expect((await toolbox.list()).map(({ name }) => name)).toEqual(expect.arrayContaining(['inner', 'users']));
      expect(await toolbox.catalog.problems()).toEqual([]);
      for (const name of ['inner', 'users'])
        expect(JSON.stringify(await toolbox.call('read_skill', { skill_name: name }, MODEL))).toContain(SECRET);
    }
  });

  finding('B11 RES-46', 'A23 link cycles and dangling links are no reason to fail', async () => {
    const checkout = createCheckout();
    checkout.link('.agents/skills/a', 'b');
    checkout.link('.agents/skills/b', 'a');
    checkout.link('.agents/tools/gone', join(checkout.outside, 'missing'));
    checkout.script('fine', SCRIPT);
    const run = await wield(checkout, ['list', '--json']);
    expect(run.status).toBe(0);
    expect(json(run).tools.map(({ name }: { name: string }) => name)).toEqual(['fine']);
  });
});
