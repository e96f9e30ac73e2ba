// What a new user meets first: mistyped directories and values, broken files, loops, narrow terminals.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect } from 'vitest';
import { VERBS } from '../../../src/cli/verbs.js';
import { json, wield, wieldProcess } from '../../support/cli.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { finding, findingIf, spec } from '../../support/spec.js';
import { countedServer } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

describe('--cwd', () => {
  for (const { name } of VERBS) {
    finding('N3 CLI-25', `of a missing directory is an error of wield ${name}`, async () => {
      const workspace = createWorkspace();
      const missing = join(workspace.dir, 'missing');
      for (const args of [
        ['--cwd', missing, name],
        [name, `--cwd=${missing}`],
      ]) {
        const run = await wield(workspace, args);
        expect([run.status, run.stdout]).toEqual([2, '']);
        expect(run.stderr).toContain(`--cwd: directory not found: ${missing}`);
      }
      expect(existsSync(missing)).toBe(false);
    });
  }

  finding('N3 CLI-25', 'of a file is an error, also for a tool', async () => {
    const workspace = createWorkspace();
    const file = workspace.script('hello', '#!/bin/sh\n# @description Hello.\necho hi\n');
    for (const args of [['list'], ['hello'], ['call', 'hello']])
      expect((await wield(workspace, ['--cwd', file, ...args])).stderr).toContain(`--cwd: not a directory: ${file}`);
  });
});

describe('values of flags', () => {
  for (const [args, hint] of [
    [['list', '--format', 'scirpt'], 'did you mean --format script?'],
    [['list', '--format', 'script', '--format=modul'], 'did you mean --format module?'],
    [['explain', 'hello', '--as', 'mpc'], 'did you mean --as mcp?'],
    [['connect', 'cursor', '--scope', 'projct'], 'did you mean --scope project?'],
    [['connect', 'cursor', '--scope', 'everywhere'], 'use --scope project|user'],
    [['mcp', 'add', '--yes', 'x', '--scope', 'usr', '--', 'ls'], 'did you mean --scope user?'],
    [['mcp', 'import', 'cursor', '--scope', 'usr'], 'did you mean --scope user?'],
    [['mcp', 'remove', 'x', '--scope', 'usr'], 'did you mean --scope user?'],
    [['serve', '--with', 'contxt'], 'did you mean context?'],
    [['serve', '--with', 'skills,nope'], 'use one of workdir, '],
    [['completions', 'fihs'], 'did you mean wield completions fish?'],
    [['approvals', 'aprove', 'x'], 'did you mean wield approvals approve?'],
    [['mcp', 'ad'], 'did you mean wield mcp add?'],
    [['connect', 'foo'], 'for a list of clients: wield connect'],
    [['connect', 'curser'], 'did you mean cursor?'],
  ] as const) {
    finding('N4 N19 CLI-26', `wield ${args.join(' ')} is rejected with a hint`, async () => {
      const run = await wield(createWorkspace(), args);
      expect([run.status, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toMatch(/unknown (?:value of --\w+: |\w+ |built-in tool or group )"/);
      expect(run.stderr).toContain(hint);
    });
  }

  for (const [args, range] of [
    [['audit', '--limit', '0'], '--limit "0" is not a whole number from 1'],
    [['search', 'x', '--limit', 'ten'], '--limit "ten" is not a whole number from 1'],
    [['worker', '--concurrency=1e3'], '--concurrency "1e3" is not a whole number from 1 to 1000'],
    [['list', '--tokens', '--max', '-1'], '--max "-1" is not a whole number from 0'],
    [['ui', '--port', '65536'], '--port "65536" is not a whole number from 0 to 65535'],
    [['mcp', 'login', 'x', '--port', '0'], '--port "0" is not a whole number from 1 to 65535'],
  ] as const)
    spec('CLI-26', `wield ${args.join(' ')} names the range`, async () => {
      const run = await wield(createWorkspace(), args);
      expect([run.status, run.stdout]).toEqual([2, '']);
      expect(run.stderr).toContain(`error  ${range}\n`);
    });

  finding.thorough('N4 CLI-26', 'every value flag with alternatives in its description declares them', async () => {
    const declared: string[] = [];
    for (const { load, modes } of VERBS)
      for (const one of [load, ...Object.values(modes)]) {
        const { name, flags } = await one();
        for (const [flag, { choices }] of Object.entries(flags))
          if (choices !== undefined) declared.push(`${name} --${flag}`);
      }
    expect(declared.sort()).toEqual([
      'call --sandbox',
      'connect --mode',
      'connect --scope',
      'explain --as',
      'list --tokens --adapter',
      'list --tokens --mode',
      'replay --export',
      'serve --mode',
    ]);
  });

  finding('N4 CLI-26', 'every format that is listed is accepted', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', '#!/bin/sh\n# @description Hello.\necho hi\n');
    const { tools } = json(await wield(workspace, ['list', '--all', '--json']));
    for (const format of new Set<string>(tools.map((tool: { format: string }) => tool.format)))
      expect((await wield(workspace, ['list', '--format', format])).status).toBe(0);
  });

  finding('N4 CLI-26', 'doctor reports unknown names in builtin.offer with file and line', async () => {
    const workspace = createWorkspace();
    workspace.config('[builtin]\noffer = ["workdr", "context"]\n');
    const run = await wield(workspace, ['doctor']);
    expect(run.stdout).toMatch(
      /warning +~\/\.wield\/config\.toml:2 .*unknown built-in tool or group "workdr"; did you mean workdir\?/,
    );
    expect(run.stdout).not.toContain('"context"');
  });
});

describe('broken files', () => {
  finding('N5 RES-47', 'a call of a tool in a broken tools.json names the file and wield check', async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: Notes.\n---\nNotes.\n');
    workspace.write('.agents/skills/notes/tools.json', '{\n  "tools": [{ "name": "notes_search" }\n');
    for (const args of [
      ['call', 'notes_search'],
      ['show', 'notes_search'],
      ['explain', 'notes_search'],
    ]) {
      const { status, stderr } = await wield(workspace, args);
      expect(status).toBe(3);
      expect(stderr).toContain('tool not found: notes_search');
      expect(stderr).toContain('not loaded: .agents/skills/notes/tools.json');
      expect(stderr).toContain('wield check');
    }
  });

  spec('RES-47 RES-64', 'the file that has the name is answered first, with what to do', async () => {
    const workspace = createWorkspace();
    for (const name of ['aa', 'bb', 'cc', 'dd'])
      workspace.script(`${name}.sh`, '#!/bin/sh\n# @description x\n# @param\n');
    for (const args of [['call', 'dd'], ['dd'], ['show', 'dd'], ['explain', 'dd']]) {
      const run = await wield(workspace, args);
      expect([args, run.status, run.stderr]).toEqual([
        args,
        3,
        'error  dd is not a tool: .agents/tools/dd.sh not listed: a dot in the name\n  hint  rename it to "dd"\n',
      ]);
    }
    const model = { caller: { kind: 'model', door: 'mcp' } as const };
    const { error } = await workspace.toolbox().call('dd', {}, model);
    expect(JSON.stringify(error)).not.toContain('dd.sh');
  });

  finding(
    'N5 RES-47',
    'a call by the name or path of a file that is not a tool says why, and names the file once',
    async () => {
      const workspace = createWorkspace();
      workspace.script('notes.sh', '#!/bin/sh\n# @description Notes.\n');
      const named = await wield(workspace, ['call', 'notes.sh']);
      expect([named.status, named.stderr]).toEqual([
        3,
        'error  notes.sh is not a tool: .agents/tools/notes.sh not listed: a dot in the name\n  hint  rename it to "notes"\n',
      ]);
      const byPath = await wield(workspace, ['call', './.agents/tools/notes.sh']);
      expect(byPath.stderr.match(/notes\.sh/g)).toHaveLength(1);
    },
  );

  finding('N5 RES-47', 'likely files come first, and a model is not told', async () => {
    const workspace = createWorkspace();
    for (const name of ['aa', 'bb', 'cc', 'notes']) workspace.write(`.agents/skills/${name}/tools.json`, '{');
    const { stderr } = await wield(workspace, ['call', 'notes_search']);
    expect(stderr.indexOf('notes/tools.json')).toBeLessThan(stderr.indexOf('aa/tools.json'));
    expect(stderr).not.toContain('cc/tools.json');
    const result = await workspace.toolbox().call('notes_search', {}, { caller: { kind: 'model', door: 'mcp' } });
    expect(JSON.stringify(result)).not.toContain('tools.json');
  });
});

describe('standard input', () => {
  const OPTIONAL =
    '#!/bin/sh\n# @description Optional.\n# @param word string A word\necho "word: ${WIELD_PARAM_WORD-none}"\n';

  finding.thorough('N9 CLI-8', 'is left to a loop by a tool without required parameters', async () => {
    const workspace = createWorkspace();
    workspace.script('opt', OPTIONAL);
    const loop = `while read -r line; do "$NODE" "$WIELD" call opt; done; echo end`;
    const { execFileSync } = await import('node:child_process');
    const { binary } = await import('../../support/built.js');
    const out = execFileSync('/bin/sh', ['-c', loop], {
      cwd: workspace.dir,
      input: 'a\nb\nc\n',
      env: { ...workspace.env, NODE: process.execPath, WIELD: binary() },
    });
    expect(out.toString()).toBe('word: none\nword: none\nword: none\nend\n');
  });

  finding('N9 CLI-8', 'is not waited for on an open pipe, and is read with --input -', async () => {
    const workspace = createWorkspace();
    workspace.script('opt', OPTIONAL);
    const open = new PassThrough();
    expect((await wield(workspace, ['call', 'opt'], { input: open })).stdout).toBe('word: none\n');
    open.destroy();
    const stdin = '{"word":"x"}';
    expect((await wield(workspace, ['call', 'opt', '--input', '-'], { stdin })).stdout).toBe('word: x\n');
    workspace.script('req', OPTIONAL.replace('@param word', '@param *word'));
    expect((await wield(workspace, ['call', 'req'], { stdin })).stdout).toBe('word: x\n');
  });
});

describe('wield list', () => {
  for (const columns of [80, 110]) {
    findingIf(hasPty, NO_PTY, 'N1 CLI-6', `keeps names and marks at ${columns} columns`, async () => {
      const workspace = createWorkspace();
      const long = 'Publish the site to staging, after building it and running every test that there is.';
      workspace.script('deploy', `#!/bin/sh\n# @description ${long}\n# @destructive\ntrue\n`);
      workspace.script('gone', `#!/bin/sh\n# @description ${long}\n# @hidden\ntrue\n`);
      workspace.script('refused', `#!/bin/sh\n# @description ${long}\ntrue\n`);
      workspace.config('[trust]\nrules = ["refused($deny)"]\n');
      const env = { COLUMNS: String(columns), NO_COLOR: '1' };
      const { screen } = await wieldAtTerminal(workspace, ['list', '--all'], { env });
      const rows = Object.fromEntries(screen.split('\n').map((line) => [line.trim().split(' ')[0], line]));
      expect(rows.deploy).toMatch(/^ {2}deploy +script +Publish.*… {3}destructive untrusted$/);
      expect(rows.gone).toMatch(/… {3}hidden untrusted$/);
      expect(rows.refused).toMatch(/… {3}denied: .*refused/);
      for (const line of [rows.deploy, rows.gone]) expect(line!.length).toBeLessThanOrEqual(columns);
    });
  }

  findingIf(hasPty, NO_PTY, 'N1 CLI-6', 'cuts nothing but the description if names are long', async () => {
    const workspace = createWorkspace();
    const name = 'a'.repeat(60);
    workspace.script(name, '#!/bin/sh\n# @description A description of some length.\n# @destructive\ntrue\n');
    const { screen } = await wieldAtTerminal(workspace, ['list'], { env: { COLUMNS: '80', NO_COLOR: '1' } });
    expect(screen).toContain(name);
    expect(screen).toContain('A descripti…');
    expect(screen).toContain('destructive untrusted');
  });
});

describe('calls that fail', () => {
  finding('N19', 'a typed tool prints its message once', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/tools/boom.tool.ts',
      `import { defineTool } from 'wield';
export const boom = defineTool({
  name: 'boom',
  description: 'Fail.',
  inputSchema: { type: 'object', properties: {} },
  execute: () => { throw new Error('the disk is full'); },
});
`,
    );
    const { stdout, stderr } = await wield(workspace, ['call', 'boom', '--trust']);
    expect(`${stdout}${stderr}`.match(/the disk is full/g)).toHaveLength(1);
  });

  finding('N19', 'a tool of a server prints its message once', async () => {
    const workspace = createWorkspace();
    const { entry } = countedServer(workspace, 'fine');
    workspace.write('../home/.agents/mcp.json', JSON.stringify({ mcpServers: { fine: entry } }));
    const { content } = json(await wield(workspace, ['call', 'fine_fails', '--json']));
    const { stdout, stderr } = await wield(workspace, ['call', 'fine_fails']);
    expect(`${stdout}${stderr}`.split(content[0].text.trim())).toHaveLength(2);
  });

  finding('N18', '--full prints a large output up to limits.output, and without it there is a handle', async () => {
    const workspace = createWorkspace();
    workspace.config('[limits]\noutput = "100K"\n');
    workspace.script(
      'big',
      '#!/bin/sh\n# @description Big.\n# @param *size integer Bytes\nhead -c "$WIELD_PARAM_SIZE" /dev/zero | tr "\\0" x\n',
    );
    const handle = json(await wield(workspace, ['call', 'big', '--size', '50000', '--json']));
    expect(handle.meta.handle.size).toBe(50_000);
    const full = json(await wield(workspace, ['call', 'big', '--size', '50000', '--json', '--full']));
    expect([full.meta.handle, full.content[0].text.length]).toEqual([undefined, 50_000]);
    const limited = json(await wield(workspace, ['call', 'big', '--size', '200000', '--json', '--full']));
    expect(limited.content[0].text.length).toBeLessThanOrEqual(100 * 1024 + 1000);
    expect(limited.meta.truncated).toBe(true);
  });
});

finding('N19', 'wield config shows durations in human units that can be pasted', async () => {
  const workspace = createWorkspace();
  expect((await wield(workspace, ['config'])).stdout).toMatch(/results\.keep +"3 days"/);
  workspace.config('[results]\nkeep = "3 days"\n[limits]\ntimeout = "2 h"\n');
  const { stdout } = await wield(workspace, ['config']);
  expect(stdout).toMatch(/results\.keep +"3 days" +\S*config\.toml:2/);
  expect(stdout).toMatch(/limits\.timeout +"2 h" +\S*config\.toml:4/);
});

finding('N19', 'the commands of context have help', async () => {
  const workspace = createWorkspace();
  const { status, stdout } = await wieldProcess(workspace, ['context', '--help']);
  expect(status).toBe(0);
  for (const command of ['query', 'read', 'write']) expect(stdout).toMatch(new RegExp(`^ {2}${command} +\\S`, 'm'));
});

finding('N6', 'a file that is not JSON is named, by wield mcp and for --input too', async () => {
  const workspace = createWorkspace();
  workspace.script('opt', '#!/bin/sh\n# @description O.\n');
  workspace.write('.mcp.json', '{ "mcpServers": { "a": } }');
  const listed = await wield(workspace, ['mcp']);
  expect([listed.stdout, listed.stderr]).toEqual([
    '',
    expect.stringMatching(/^ {2}problem {2}\.mcp\.json:1:24 is not valid JSON: /),
  ]);
  expect(json(await wield(workspace, ['mcp', '--json'])).problems).toHaveLength(1);
  workspace.write('in.json', '{"a": }');
  for (const args of [
    ['call', 'opt'],
    ['explain', 'opt'],
  ]) {
    const { stderr } = await wield(workspace, [...args, '--input', '@in.json']);
    expect(stderr).toContain('in.json is not valid JSON: line 1, column 7');
  }
});
