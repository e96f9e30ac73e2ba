// Further attacks of the kinds that a review found: other names, files, keys, references and rules.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../support/cli.js';
import { ALL_TESTS, SAMPLED, SEED, some, THOROUGH } from '../support/effort.js';
import { createInstallWorkspace } from '../support/install.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { hasPty, wieldAtTerminal } from '../support/pty.js';
import { nodeScript, shellScript } from '../support/shell-script.js';
import { finding } from '../support/spec.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

describe('names', () => {
  finding(
    'B2',
    'in the text of an item do not choose where it is linked',
    async () => {
      const names = [
        '../settings',
        '../../settings.json',
        'settings.json',
        '/tmp/x',
        'a/b',
        '..',
        '.',
        'CLAUDE',
        'x\u0000',
      ];
      for (const [at, name] of names.entries()) {
        const workspace = createInstallWorkspace();
        const header = `---\nname: ${JSON.stringify(name)}\ndescription: D.\n---\n`;
        const source = workspace.source(`s${at}`, {
          'agents/own.md': header,
          'rules/own.md': header,
          'skills/own/SKILL.md': header,
          '.claude-plugin/plugin.json': JSON.stringify({
            name,
            version: '1.0.0',
            skills: ['./skills', '../../outside'],
          }),
          '.claude-plugin/marketplace.json': JSON.stringify({
            name,
            owner: { name: 'x' },
            plugins: [{ name, source: './' }],
          }),
        });
        await workspace.run('add', source, '--yes');
        await workspace.run('install', '--all', '--yes');
        const placed = Object.keys(workspace.snapshot()).filter((path) => path.startsWith('.claude'));
        const isKept =
          /^\.claude(?:$|\/(?:agents|rules)(?:$|\/(?!CLAUDE\.|\.)[^/]+\.md$)|\/skills(?:$|\/(?!\.)[^/]+(?:\/|$)))/;
        expect([name, placed.filter((path) => !isKept.test(path))]).toEqual([name, []]);
      }
    },
    60_000,
  );

  finding.thorough(
    'B22',
    'that every object has are ordinary in every file',
    async () => {
      for (const key of ['constructor', 'toString', '__proto__', 'prototype', 'hasOwnProperty', 'valueOf']) {
        const workspace = createWorkspace();
        workspace.script('hello', shellScript('echo hi', `@sandbox ${key}`));
        workspace.script('plain', shellScript('echo hi', `@param ${key} string X`));
        workspace.write(`.agents/skills/${key}/SKILL.md`, `---\nname: ${key}\ndescription: D\n---\nText\n`);
        configureServers(workspace, { [key]: { command: 'missing-program' } });
        workspace.config(
          `[tools.${key}]\ntimeout = "5s"\n[profiles.${key}]\ntools = "*"\n[sandbox.own]\nnetwork = true\n`,
        );
        for (const args of [
          ['list', '--json'],
          ['list', '--profile', key],
          ['call', 'hello'],
          ['call', 'plain', `--${key}`, 'x'],
          ['show', key],
          ['mcp'],
          ['explain', 'plain'],
          ['search', key],
          ['config'],
          ['doctor'],
          ['call', 'plain', '--input', `{"${key}":{"a":1}}`],
        ]) {
          const run = await wield(workspace, args);
          expect([key, args, run.status === 70, /\n\s+at |TypeError/.test(run.stderr)]).toEqual([
            key,
            args,
            false,
            false,
          ]);
        }
        expect((await wield(workspace, ['call', 'hello'])).status).toBe(8);
        expect(({} as Record<string, unknown>).network).toBeUndefined();
      }
    },
    60_000,
  );
});

describe('places', () => {
  const place = (workspace: Workspace, name: string) =>
    join(name.startsWith('~') ? workspace.home : workspace.dir, name.replace(/^~\//, ''));
  const clear = (path: string): void => {
    rmSync(path, { recursive: true, force: true });
    mkdirSync(dirname(path), { recursive: true });
  };
  const ODD: Record<string, (path: string) => void> = {
    'a file': (path) => writeFileSync(path, 'text'),
    'a directory': (path) => mkdirSync(path),
    'a FIFO': (path) => execFileSync('mkfifo', [path]),
    'a loop of links': (path) => symlinkSync(path, path),
    'bytes that are not text': (path) => writeFileSync(path, Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x7b])),
    'a link to a device': (path) => symlinkSync('/dev/zero', path),
    'a deep document': (path) => writeFileSync(path, '['.repeat(200_000)),
  };
  const PLACES = [
    '.agents',
    '.agents/tools',
    '.agents/skills',
    '.agents/config.toml',
    '.mcp.json',
    '.agents/tools/x',
    '.agents/skills/s/tools.json',
    '.agents/tools/x.tool.mjs',
    '~/.wield/config.toml',
    '~/.wield/trust.json',
    '~/.wield/pins',
    '~/.wield/cache',
    '~/.wield/audit',
    '~/.wield/approvals',
    '~/.wield/sources.json',
    '~/.wield/hooks.json',
    '~/.wield/store',
    '~/.agents/mcp.json',
    '~/.wield/projects',
    '~/.wield/secrets.toml',
    '~/.wield/logins',
  ];
  const VERBS = [
    ['list'],
    ['check'],
    ['doctor'],
    ['call', 'hello'],
    ['show', 'hello'],
    ['mcp'],
    ['audit'],
    ['approvals'],
    ['trust', '--yes'],
    ['clean'],
    ['config'],
    ['search', 'x'],
    ['list', '--installed'],
    ['sync'],
    ['verify'],
    ['explain', 'hello', '--as', 'mcp'],
    ['tokens'],
    ['capabilities'],
  ];
  for (const [what, make] of some(Object.entries(ODD), 3)) {
    finding(
      'B21',
      `${what} in any place is never a fault in wield${SAMPLED}`,
      async () => {
        for (const [at, name] of PLACES.entries()) {
          const workspace = createWorkspace();
          workspace.script('hello', shellScript('echo hi'));
          const path = place(workspace, name);
          clear(path);
          make(path);
          // In `npm test` each place is tried with one or two verbs, and each verb in some places.
          const step = ALL_TESTS ? 6 : 12;
          for (const args of VERBS.filter((_, verb) => THOROUGH || (verb + at) % step === SEED % step)) {
            const run = await wield(workspace, args);
            expect([name, args, run.status === 70, /\n\s+at |TypeError/.test(run.stderr)]).toEqual([
              name,
              args,
              false,
              false,
            ]);
          }
        }
      },
      120_000,
    );
  }
});

describe('rules', () => {
  finding.thorough('B23', 'of a checkout do not keep the process busy, however many there are', async () => {
    const workspace = createWorkspace();
    workspace.script('say', shellScript('echo hi', '@param text string T'));
    const bombs = Array.from({ length: 1000 }, (_, at) => `say(text={${'{a*,*a}'.repeat(20)},x${at}}z,$deny)`);
    workspace.write('.agents/config.toml', `[trust]\nrules = ${JSON.stringify(bombs)}\n`);
    const toolbox = workspace.toolbox({ trust: true });
    expect((await toolbox.call('say', { text: 'b' }, MODEL)).error).toBeUndefined();
    const began = process.cpuUsage();
    expect((await toolbox.call('say', { text: 'a'.repeat(90_000) }, MODEL)).error?.code).toBe('denied');
    const { user, system } = process.cpuUsage(began);
    expect((user + system) / 1000).toBeLessThan(30_000);
    // Each of these ends within its limit and does not match; all together take too long, so the call is denied.
    const slow = Array.from({ length: 1000 }, (_, at) => `say(text=${'*a'.repeat(30)}{b${at},c},$deny)`);
    for (const [rules, code] of [
      [slow, 'denied'],
      [slow.slice(0, 1), undefined],
    ] as const) {
      workspace.write('.agents/config.toml', `[trust]\nrules = ${JSON.stringify(rules)}\n`);
      const { error } = await toolbox.call('say', { text: 'a'.repeat(90_000) }, MODEL);
      expect([rules.length, error?.code]).toEqual([rules.length, code]);
    }
  });

  finding('B10', 'match every spelling of a value', async () => {
    const workspace = createWorkspace();
    workspace.script('take', shellScript('echo "$WIELD_PARAM_V"', '@param v object V', '@param n number N'));
    workspace.config('[trust]\nrules = ["take(v=etc/*,$deny)", "take(n=22,$deny)"]\n');
    const toolbox = workspace.toolbox({ trust: true });
    for (const v of ['etc/x', './etc/x', 'a/../etc/x', 'etc//x', 'etc/./x', './/etc/../etc/x'])
      expect([v, (await toolbox.call('take', { v: { deep: [{ v }] } }, MODEL)).error?.code]).toEqual([v, 'denied']);
    for (const n of [22, '22', 22.0, '2.2e1', '22.0'])
      expect([n, (await toolbox.call('take', { n }, MODEL)).error?.code]).toEqual([n, 'denied']);
    expect((await toolbox.call('take', { v: { deep: 'other/etc/x' }, n: 23 }, MODEL)).error).toBeUndefined();
  });
});

describe('pins', () => {
  finding.thorough(
    'B4',
    'a ref that looks like the pinned commit or tag is not used',
    async () => {
      const workspace = createInstallWorkspace();
      const marks = join(workspace.dir, 'marks');
      const hook = (text: string) => ({
        'wield.toml': '[[hooks]]\nrun = "sh setup.sh"\n',
        'setup.sh': `echo ${text} >> ${marks}\n`,
      });
      const url = workspace.repository('repo', {
        ...hook('old'),
        'tools/a/TOOL.md': '---\nbin: a.sh\n---\n',
        'tools/a/a.sh!': '#!/bin/sh\n',
      });
      const commit = workspace.git('repo', 'rev-parse', 'HEAD').trim();
      workspace.git('repo', 'tag', 'v1');
      const homes = [commit, 'tag=v1', commit.slice(0, 10), 'v1'];
      const places = homes.map(() => createInstallWorkspace());
      for (const [at, pin] of homes.entries()) {
        const added = await places[at]!.run('add', url, '--pin', pin, '--yes', '--run-hooks');
        expect([pin, added.status]).toEqual([pin, 0]);
      }
      expect(readFileSync(marks, 'utf8')).toBe('old\n'.repeat(homes.length));
      workspace.source('repo', hook('evil'));
      workspace.git('repo', 'commit', '--quiet', '-am', 'Evil');
      for (const name of [commit, commit.slice(0, 10), 'v1']) workspace.git('repo', 'branch', '--force', name, 'HEAD');
      for (const name of [commit, commit.slice(0, 10)]) workspace.git('repo', 'tag', '--force', name, 'HEAD');
      for (const [at] of homes.entries())
        for (const args of [
          ['sync', '--run-hooks'],
          ['upgrade', '--run-hooks', '--yes'],
        ])
          await places[at]!.run(...args);
      expect(readFileSync(marks, 'utf8')).toBe('old\n'.repeat(homes.length));
    },
    60_000,
  );

  finding.thorough(
    'B16',
    'a fetched source names no local repository in any spelling',
    async () => {
      const workspace = createInstallWorkspace();
      const inner = workspace.repository('inner', {
        'tools/a/TOOL.md': '---\nbin: a.sh\n---\n',
        'tools/a/a.sh!': '#!/bin/sh\n',
      });
      const path = inner.slice('file://'.length);
      for (const [at, nested] of [
        `FILE://${path}`,
        `file://localhost${path}`,
        `file:${path}`,
        `File:///${path.slice(1)}`,
        path,
        `.${path}`,
        `~/../..${path}`,
        `file:///%2e%2e${path}`,
        `../../../..${path}`,
        `ext::sh -c true`,
        `fd::3`,
        `http://127.0.0.1:9/x`,
      ].entries()) {
        const url = workspace.repository(`outer${at}`, {
          'wield.toml': `[[sources]]\nsource = ${JSON.stringify(nested)}\n`,
          'tools/b/TOOL.md': '---\nbin: b.sh\n---\n',
          'tools/b/b.sh!': '#!/bin/sh\n',
        });
        await workspace.run('add', url, '--yes');
        const listed = json(await workspace.run('list', '--installed', '--json'));
        expect([nested, JSON.stringify(listed).includes('/inner')]).toEqual([nested, false]);
      }
    },
    60_000,
  );
});

describe('secrets', () => {
  finding('B19', 'the token of the server cannot be referred to', async () => {
    const workspace = createWorkspace();
    const server = workspace.write(
      'server.mjs',
      `import { writeFileSync } from 'node:fs';\nwriteFileSync('env.json', JSON.stringify([process.env, process.argv]));\n`,
    );
    for (const [at, more] of [
      { env: { X: '${WIELD_TOKEN}' } },
      { env: { X: '${env:WIELD_TOKEN}' } },
      { env: { X: '${WIELD_TOKEN:-none}' } },
      { args: [server, '$WIELD_TOKEN'] },
    ].entries()) {
      rmSync(join(workspace.dir, 'env.json'), { force: true });
      configureServers(workspace, { [`s${at}`]: { command: process.execPath, args: [server], ...more } });
      await wield(workspace, ['mcp', 'refresh', `s${at}`], { env: { WIELD_TOKEN: 'server-token-71' } });
      const seen = existsSync(join(workspace.dir, 'env.json'))
        ? readFileSync(join(workspace.dir, 'env.json'), 'utf8')
        : '';
      expect([more, seen.includes('server-token-71')]).toEqual([more, false]);
    }
  });

  finding('B12', 'of nested and generated input are not shown while a call waits', async () => {
    const workspace = createModuleWorkspace();
    workspace.module(
      'post.tool.mjs',
      moduleText('post', '() => "x"').replace(
        'execute:',
        "inputSchema: { type: 'object', additionalProperties: true }, execute:",
      ),
    );
    workspace.config('[trust]\nrules = "*"\n[tools.post]\nfixed = { api_token = "fixed-secret-1" }\n');
    const secret = 'hunter2-secret';
    const toolbox = workspace.toolbox({ trust: true });
    const input = {
      a: [{ password: secret }],
      headers: { 'X-Api-Key': secret },
      body: `{"client_secret": "${secret}"}`,
      url: `https://x/?access_token=${secret}&a=1`,
      env: { DB_PASSWORD: [secret] },
    };
    const { error } = await toolbox.call('post', input, MODEL);
    expect(error?.code).toBe('needs_approval');
    const shown = await wield(workspace, ['approvals', 'show', String(error?.data?.id)]);
    const all = [
      JSON.stringify(error),
      shown.stdout,
      execFileSync('sh', ['-c', 'cat approvals/*'], { cwd: workspace.env.WIELD_HOME, encoding: 'utf8' }),
    ];
    for (const text of all) expect(text).not.toMatch(/hunter2-secret|fixed-secret-1/);
  });
});

describe('results', () => {
  finding('B25', 'of modules and servers that cannot be stored are errors', async () => {
    const workspace = createModuleWorkspace();
    workspace.module('big.tool.mjs', moduleText('big', `() => 'x'.repeat(1_500_000)`));
    workspace.module(
      'wide.tool.mjs',
      moduleText('wide', `() => ({ rows: Array.from({ length: 20_000 }, (_, i) => ({ i, text: 'y'.repeat(40) })) })`),
    );
    mkdirSync(workspace.env.WIELD_HOME!, { recursive: true, mode: 0o700 });
    writeFileSync(join(workspace.env.WIELD_HOME!, 'projects'), '');
    const toolbox = workspace.toolbox({ trust: true });
    for (const name of ['big', 'wide']) {
      const result = await toolbox.call(name, {}, MODEL);
      expect([name, result.ok, result.error?.code]).toEqual([name, false, 'io']);
      expect(JSON.stringify(result.content).length).toBeGreaterThan(1000);
    }
  });
});

if (hasPty)
  finding.thorough(
    'B18',
    'texts of authors control no terminal, whichever command shows them',
    async () => {
      const workspace = createWorkspace();
      const evil = '\u001b]0;t\u0007\u001b[2J\u009b2J\u202egnp\u001b[8mhidden';
      workspace.script(
        'esc',
        nodeScript(
          `console.error(${JSON.stringify(evil)}); process.exit(3)`,
          `@description A ${evil} b`,
          `@param p string P ${evil}`,
          `@tag t${evil}`,
          `@example {"p":"${evil}"}`,
        ),
      );
      workspace.write('.agents/skills/s/SKILL.md', `---\nname: s\ndescription: "D \\x1b]0;t\\x07 \\u202e"\n---\n`);
      workspace.write('.mcp.json', JSON.stringify({ mcpServers: { [`a${evil}`]: { command: `x${evil}` } } }));
      workspace.write('.agents/config.toml', `[nope]\n"k\\u001b]0;t\\u0007" = 1\n`);
      const DANGEROUS =
        /\u001b(?!\[[0-9;]*m|\[K|\[\?25|\[\d*[ABCDG])|\u001b\[(?:\d*;)?8m|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u007f-\u009f\u202a-\u202e]/;
      for (const args of [
        ['list'],
        ['show', 'esc'],
        ['esc', '--help'],
        ['search', 'b'],
        ['check'],
        ['doctor'],
        ['mcp'],
        ['audit'],
        ['config'],
        ['call', 'esc', '--p', evil.replaceAll('\u0000', '')],
        ['call', `no${evil}`],
        ['explain', 'esc'],
      ]) {
        const { screen } = await wieldAtTerminal(workspace, args);
        expect([
          args.slice(0, 2),
          DANGEROUS.exec(screen)?.index === undefined
            ? null
            : JSON.stringify(
                screen.slice(Math.max(0, DANGEROUS.exec(screen)!.index - 40), DANGEROUS.exec(screen)!.index + 20),
              ),
        ]).toEqual([args.slice(0, 2), null]);
      }
    },
    60_000,
  );
