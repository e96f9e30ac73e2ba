// Attacks on rules: holes in patterns, glob bombs, invalid rules, deceptive text.

import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { type Caller, defineTool, type JsonObject, type ToolDefinition } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { ALL_TESTS, SAMPLED, sample } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { serveHere } from '../support/serve.js';
import { shellScript } from '../support/shell-script.js';
import { finding, spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };

const say = (name: string): ToolDefinition =>
  defineTool({
    name,
    description: 'Say it.',
    inputSchema: { type: 'object', properties: { text: {}, constructor: { type: 'string' } } },
    execute: () => 'ran',
  });

function withRules(names: readonly string[], selectors: readonly string[], key = 'allowed-tools'): NodeToolbox {
  const workspace = createWorkspace();
  const rules = JSON.stringify(selectors);
  workspace.config(key === 'allowed-tools' ? `${key} = ${rules}\n` : `[trust]\nrules = ${rules}\n`);
  return workspace.toolbox({ tools: names.map(say) });
}

function ruledToolbox(selectors: readonly string[], tool: ToolDefinition): NodeToolbox {
  const workspace = createWorkspace();
  workspace.config(`allowed-tools = ${JSON.stringify(selectors)}\n`);
  return workspace.toolbox({ tools: [tool] });
}

const codeOf = async (toolbox: NodeToolbox, name: string, input: JsonObject = {}) =>
  (await toolbox.call(name, input, { caller: MODEL })).error?.code;

describe('A37 holes in patterns', () => {
  spec('POL-3 SEL-4', 'a rule for everything matches odd names, namespaces and long names', async () => {
    const names = ['a', '_a', '9', 'A-b', 'ns:tool', 'n'.repeat(64)];
    for (const all of ['*', '**', '*($policy=allow)']) {
      const toolbox = withRules(names, [all, '*($deny)']);
      for (const name of names) expect([name, await codeOf(toolbox, name)]).toEqual([name, 'denied']);
      expect(await toolbox.list({ caller: MODEL })).toEqual([]);
    }
  });

  spec('POL-4 SEL-2', 'a value with a dot, a slash, a newline or another type is matched', async () => {
    const toolbox = withRules(['say'], ['*', 'say(text=*secret*,$deny)']);
    const values = [
      'secret',
      '.secret',
      '/etc/secret',
      'a/b/secret/c',
      'x\nsecret\ny',
      '\u2028secret\r\n',
      `${'x'.repeat(100_000)}secret`,
      ['secret'],
      { deep: { er: 'a secret' } },
    ];
    for (const text of values) expect([text, await codeOf(toolbox, 'say', { text })]).toEqual([text, 'denied']);
    expect(await codeOf(toolbox, 'say', { text: 'public' })).toBeUndefined();
  });

  spec('POL-4', 'inherited properties are not arguments', async () => {
    const toolbox = withRules(['say'], ['*', 'say(constructor=*,$deny)', 'say(toString=*,$deny)']);
    expect(await codeOf(toolbox, 'say', {})).toBeUndefined();
    expect(await codeOf(toolbox, 'say', { constructor: 'x' })).toBe('denied');
    const selected = withRules(['say'], ['say(toString=*)']);
    expect(await codeOf(selected, 'say', {})).toBe('denied');
  });

  spec('POL-3', `the order of selectors does not matter${SAMPLED}`, async () => {
    const selectors = ['*', 'say', 'say(text=*)', 'say($deny)', '#*'];
    for (const order of sample(permutations(selectors), ALL_TESTS ? 20 : 8)) {
      const toolbox = withRules(['say'], order);
      expect([order, await codeOf(toolbox, 'say', { text: 'x' })]).toEqual([order, 'denied']);
    }
    for (const order of permutations(['*($policy=allow)', 'say($policy=allow)', 'say($deny)'])) {
      const toolbox = withRules(['say'], order, 'trust.rules');
      expect([order, await codeOf(toolbox, 'say')]).toEqual([order, 'denied']);
    }
  });
});

describe('A38 glob bombs', () => {
  spec('SEL-5 POL-4', 'stars and braces against a long value are matched quickly', async () => {
    const bombs = [
      `say(text=${'*a'.repeat(400)}*b,$deny)`,
      `say(text=${'{a,aa}'.repeat(150)}b,$deny)`,
      `say(text=${'{a,{b,{c,d}}}*'.repeat(60)}z,$deny)`,
      `${'{s,t}'.repeat(150)}*($deny)`,
    ];
    const toolbox = withRules(['say'], ['*', ...bombs]);
    const began = performance.now();
    expect(await codeOf(toolbox, 'say', { text: 'a'.repeat(100_000) })).toBeUndefined();
    await toolbox.list({ caller: MODEL });
    expect(performance.now() - began).toBeLessThan(patience(90_000));
  });

  finding('B23', 'a match that takes too many steps is denied, and ends soon', async () => {
    const bombs = [`{${'{a*,*a}'.repeat(120)},x}z`, `{x,${'*{a,b}'.repeat(150)}}z`, `{${'?*'.repeat(300)},y}z`];
    const text = `z${'a'.repeat(1_000_000)}`;
    for (const bomb of bombs) {
      const toolbox = withRules(['say'], ['*', `say(text=${bomb},$deny)`]);
      expect(await codeOf(toolbox, 'say', { text: 'b'.repeat(200) })).toBeUndefined();
      const began = process.cpuUsage();
      expect([bomb, await codeOf(toolbox, 'say', { text })]).toEqual([bomb, 'denied']);
      const { user, system } = process.cpuUsage(began);
      expect([bomb, (user + system) / 1000 < 5000]).toEqual([bomb, true]);
      expect(await codeOf(withRules(['say'], [`say(text=${bomb})`]), 'say', { text })).toBe('denied');
    }
    // Ordinary patterns decide long values.
    const toolbox = withRules(['say'], ['*', 'say(text=*{secret,hidden}*,$deny)']);
    expect(await codeOf(toolbox, 'say', { text: 'x'.repeat(400_000) })).toBeUndefined();
    expect(await codeOf(toolbox, 'say', { text: `${'x'.repeat(400_000)}secret` })).toBe('denied');
    const large = withRules(['say'], ['*', `say(text=${'{1..999}'.repeat(5)},$deny)`]);
    expect(await codeOf(large, 'say', { text: 'x' })).toBe('denied');
  });

  spec.thorough('POL-9', 'the maximum number of rules over many tools stays fast', async () => {
    const names = Array.from({ length: 200 }, (_, index) => `tool-${index}`);
    const rules = Array.from({ length: 4999 }, (_, index) => `*x${index}*y*z*`);
    const toolbox = withRules(names, ['tool-1*', ...rules]);
    const began = performance.now();
    // And query_result and read_result, which need no list entry (POL-12).
    expect((await toolbox.list({ caller: MODEL })).length).toBe(113);
    expect(await codeOf(toolbox, 'tool-1')).toBeUndefined();
    expect(await codeOf(toolbox, 'tool-2')).toBe('denied');
    expect(performance.now() - began).toBeLessThan(patience(90_000));
  });
});

describe('A39 invalid rules', () => {
  const createMarked = (): Workspace & { readonly mark: string } => {
    const workspace = createWorkspace();
    const mark = join(workspace.home, 'mark');
    workspace.script('touch', shellScript(`: > ${mark}`));
    return { ...workspace, mark };
  };
  const texts: readonly (readonly [string, string])[] = [
    ['no TOML', 'allowed-tools = "*\n'],
    ['no selector', 'allowed-tools = "* a("\n'],
    ['an empty list', 'allowed-tools = []\n'],
    ['too many', `allowed-tools = "${'* '.repeat(5001)}"\n`],
    ['too long', `allowed-tools = "*"\n#${'x'.repeat(5 * 1024 * 1024)}\n`],
    ['another type', 'allowed-tools = true\n'],
    ['a key twice', 'allowed-tools = "*"\nallowed-tools = "*"\n'],
  ];

  spec('POL-9', 'deny at the shell and over MCP, and nothing runs', async () => {
    for (const [what, text] of texts) {
      for (const layer of ['user', 'project'] as const) {
        const workspace = createMarked();
        if (layer === 'user') workspace.config(text);
        else workspace.write('.agents/config.toml', text);
        const run = await wield(workspace, ['call', 'touch', '--json']);
        expect([what, layer, run.status, json(run).error.code]).toEqual([what, layer, 5, 'denied']);
        const toolbox = workspace.toolbox({ trust: true });
        expect([what, await codeOf(toolbox, 'touch')]).toEqual([what, 'denied']);
        const listed = (await toolbox.list({ caller: MODEL })).map(({ name }) => name);
        // An empty list still allows reading tools (POL-12).
        expect([what, listed.filter((name) => !name.endsWith('_result'))]).toEqual([what, []]);
        expect([what, existsSync(workspace.mark)]).toEqual([what, false]);
      }
    }
  });

  spec('POL-9', 'that break while a server runs deny everything until they are fixed', async () => {
    const workspace = createMarked();
    workspace.config('allowed-tools = "*"\n');
    const server = serveHere(workspace);
    await server.initialize();
    let id = 0;
    const call = async () => {
      const { result } = await server.request(++id, 'tools/call', { name: 'touch', arguments: {} });
      return result._meta?.['wield/error']?.code;
    };
    expect(await call()).toBeUndefined();
    for (const [, text] of texts) {
      workspace.config(text);
      expect(await call()).toBe('denied');
      workspace.config('allowed-tools = "*"\n');
      expect(await call()).toBeUndefined();
    }
  });

  spec('POL-9', 'a linked file counts, and a dangling link denies (A20)', async () => {
    const workspace = createMarked();
    const real = join(workspace.home, 'rules.toml');
    symlinkSync(real, join(workspace.dir, '.agents/config.toml'));
    const toolbox = workspace.toolbox({ trust: true });
    expect(await codeOf(toolbox, 'touch')).toBe('denied');
    writeFileSync(real, 'allowed-tools = "other"\n');
    expect(await codeOf(toolbox, 'touch')).toBe('denied');
    expect(existsSync(workspace.mark)).toBe(false);
    writeFileSync(real, 'allowed-tools = "touch"\n');
    expect(await codeOf(toolbox, 'touch')).toBeUndefined();
  });
});

describe('A43 deceptive text', () => {
  // Clears the screen, reverses the line, hides words, and contains instructions to a model.
  const POISON =
    '\u001b[2J\u001b]0;title\u0007\u202egnp.exe\u2066\u200b\u{e0053}\u{e0045}\u{e004e}\u{e0044}\u0000\u009b31m';
  const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\u{e0000}-\u{e007f}]/u;

  spec('POL-8 POL-10 ERR-5', 'in a description does not reach a person', async () => {
    const workspace = createWorkspace();
    const text = `Harmless.${POISON.replace('\u0000', '')}`;
    workspace.script('poisoned', `#!/bin/sh\n# @description ${text}\n# @tag net\necho ran\n`);
    workspace.config('allowed-tools = ["*", "poisoned($deny)"]\n');
    for (const args of [
      ['list', '--all'],
      ['show', 'poisoned'],
      ['explain', 'poisoned'],
      ['search', 'harmless'],
      ['call', 'poisoned'],
      ['call', 'poisoned', '--help'],
      ['call', 'poisoned', '--dry-run'],
      ['doctor'],
    ]) {
      const { stdout, stderr } = await wield(workspace, args);
      expect([args, UNSAFE.exec(stdout + stderr)]).toEqual([args, null]);
    }
  });

  spec('ERR-7 SRV-3', 'in descriptions of tools, parameters and skills does not reach a model', async () => {
    const workspace = createWorkspace();
    const text = `Harmless.${POISON.replace('\u0000', '')}`;
    workspace.script('poisoned', `#!/bin/sh\n# @description ${text}\n# @param p string ${text}\necho ran\n`);
    workspace.write(
      '.agents/tools/typed.tool.mjs',
      `export const typed = { name: 'typed', description: ${JSON.stringify(text)},
        inputSchema: { type: 'object', properties: { p: { type: 'string', description: ${JSON.stringify(text)} } } },
        execute: () => 'x' };\n`,
    );
    const parameters = { type: 'object', properties: { p: { type: 'string', description: text, enum: ['a\u200b'] } } };
    workspace.write(
      '.agents/skills/hidden/tools.json',
      JSON.stringify({
        tools: [{ name: 'declared', description: text, parameters }],
        allowlist: { echo: [''] },
        execution: [{ tool: 'declared', binary: 'echo', subcommand: '', args: [{ param: 'p' }] }],
      }),
    );
    workspace.write(
      '.agents/skills/hidden/SKILL.md',
      `---\nname: hidden\ndescription: ${JSON.stringify(text.replaceAll('\u001b', ''))}\n---\nBody.\n`,
    );
    const server = serveHere(workspace);
    const shown = [await server.initialize(), await server.request('list', 'tools/list')];
    const names = shown[1].result.tools.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['poisoned', 'typed', 'declared', 'read_skill']));
    for (const query of ['harmless', 'hidden'])
      shown.push(await server.request(query, 'tools/call', { name: 'search_tools', arguments: { query } }));
    expect(JSON.stringify(shown)).toContain('Harmless.');
    const strings: string[] = [];
    JSON.stringify(shown, (key, value) => {
      strings.push(key);
      if (typeof value === 'string') strings.push(value);
      return value;
    });
    // A value that input is compared with stays as it is.
    expect(strings.filter((one) => UNSAFE.test(one))).toEqual(['a\u200b']);
    const check = await wield(workspace, ['check']);
    for (const name of ['poisoned', 'SKILL.md'])
      expect(check.stdout).toMatch(new RegExp(`${name}[^]*invisible characters in a description`));
  });

  spec('POL-10 POL-9', "in a checkout's rules does not reach a person or a model", async () => {
    const rule = JSON.stringify(`say(text=${POISON},$deny)`).replaceAll('\u{e0053}', '');
    for (const text of [
      `allowed-tools = ["*", ${rule}, "say($deny)"]\n`,
      `allowed-tools = ["*", "say(text=a\\u001b[2J\\u202e,$deny)", "say(\\u001b[2J\\u202e"]\n`,
      `"\\u001b[2J\\u202e" = 1\nallowed-tools = ["say(x=\\u001b[2J\\u202e*)"]\n`,
    ]) {
      const workspace = createWorkspace();
      workspace.script('say', shellScript('echo ran', '@param text string Text'));
      workspace.write('.agents/config.toml', text.replaceAll('\u009b', '\\u009b'));
      for (const args of [['explain', 'say'], ['list', '--all'], ['call', 'say'], ['config'], ['doctor']]) {
        const { stdout, stderr } = await wield(workspace, args);
        expect([text, args, UNSAFE.exec(stdout + stderr)]).toEqual([text, args, null]);
      }
      const { error } = await workspace.toolbox().call('say', {}, { caller: MODEL });
      expect([text, UNSAFE.exec(`${error!.message} ${error!.hint}`)]).toEqual([text, null]);
    }
  });
});

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, at) => at !== index)).map((rest) => [item, ...rest]),
  );
}

describe('B10 values in arrays and objects', () => {
  const run = defineTool({
    name: 'rd',
    description: 'Read.',
    inputSchema: { type: 'object', properties: { p: {}, q: {} } },
    execute: () => 'ran',
  });

  finding('B10', 'a deny rule matches every text, number and key at any depth', async () => {
    const toolbox = ruledToolbox(['*', 'rd(p=/etc/*,$deny)', 'rd(q=1?,$deny)', 'rd(q=true,$deny)'], run);
    const denied: JsonObject[] = [
      { p: ['/etc/hostname'] },
      { p: ['/tmp/a', '/etc/hostname'] },
      { p: [['/tmp/a'], [['/etc/hostname']]] },
      { p: { path: '/etc/hostname' } },
      { p: { '/etc/hostname': 1 } },
      { p: '/tmp/../etc/hostname' },
      { p: ['//etc/./hostname'] },
      { q: [12] },
      { q: { deep: [false, true] } },
    ];
    for (const input of denied) expect([input, await codeOf(toolbox, 'rd', input)]).toEqual([input, 'denied']);
    const allowed: JsonObject[] = [{ p: ['/tmp/a'] }, { p: ['x'], q: [1, 123, false] }, {}];
    for (const input of allowed) expect([input, await codeOf(toolbox, 'rd', input)]).toEqual([input, undefined]);
  });

  finding('B10', 'a rule that allows must match every one of them', async () => {
    for (const rule of ['rd(p=/tmp/*)', 'rd(p=[!/e]*)', 'rd(p=/tmp/*,$policy=allow)']) {
      const toolbox = ruledToolbox([rule], run);
      for (const p of [['/tmp/a', '/etc/x'], ['/etc/x'], [], {}, '/tmp/../etc/x'])
        expect([rule, p, await codeOf(toolbox, 'rd', { p })]).toEqual([rule, p, 'denied']);
    }
    expect(await codeOf(ruledToolbox(['rd(p=/tmp/*)'], run), 'rd', { p: ['/tmp/a', '/tmp/b'] })).toBeUndefined();
  });

  finding('B10', 'a rule that asks, and the elements of a declared command line', async () => {
    const workspace = createSkillWorkspace();
    workspace.skill('own', {
      'tools.json': declare([{ param: 'p', split: true }], { properties: { p: {} } }),
    });
    workspace.config(
      `allowed-tools = ["*", "run(p=/etc/*,$deny)"]\n[trust]\nrules = ["run(p=/var/*)", "*($policy=allow)"]\n`,
    );
    const toolbox = workspace.toolbox({ trust: true });
    expect(await codeOf(toolbox, 'run', { p: 'x /etc/hostname' })).toBe('denied');
    expect(await codeOf(toolbox, 'run', { p: ['x', '/etc/hostname'] })).toBe('denied');
    expect(await codeOf(toolbox, 'run', { p: ['x', '/var/log'] })).toBe('needs_approval');
  });
});
