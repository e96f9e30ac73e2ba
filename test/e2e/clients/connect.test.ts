// Tests of `wield connect`: adding wield to clients, and undoing that.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { parse as parseJsonc } from 'jsonc-parser';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { CLIENTS } from '../../../src/clients/table.js';
import { binary } from '../../support/built.js';
import { json, wield } from '../../support/cli.js';
import { CLIENT_FILES, type ClientFixture, fixtureOf, writeClientFile } from '../../support/client-files.js';
import { readDocument } from '../../support/documents.js';
import { some } from '../../support/effort.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { finding, spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const GREET = '#!/bin/sh\n# @description Greet.\necho hello\n';

function createServed(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', GREET);
  return workspace;
}

interface Started {
  readonly command: string;
  readonly args: string[];
}

/** Reads a file as its client does, with placeholders filled in. */
function readAsClient(client: string, text: string, directory: string): Started {
  const read = (): Started => {
    if (client === 'codex') return parseToml(text).mcp_servers as never;
    if (client === 'goose') return parseYaml(text).extensions;
    if (client === 'vscode') return parseJsonc(text.replace(/^\ufeff/, ''), [], { allowTrailingComma: true }).servers;
    return JSON.parse(text).mcpServers;
  };
  const entry = (read() as unknown as Record<string, Started & { cmd?: string }>).wield!;
  const fill = (word: string): string => word.replaceAll('$' + '{workspaceFolder}', directory);
  return { command: fill(entry.command ?? entry.cmd), args: entry.args.map(fill) };
}

async function connectTo(workspace: Workspace, { command, args }: Started, cwd: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(new StdioClientTransport({ command, args, cwd, env: workspace.env, stderr: 'ignore' }));
  onTestFinished(() => client.close());
  return client;
}

async function listTools(workspace: Workspace, started: Started, cwd: string): Promise<string[]> {
  const client = await connectTo(workspace, started, cwd);
  return (await client.listTools()).tools.map((tool) => tool.name);
}

/** Whether a text is a subsequence of another: nothing was lost or moved. */
function isPartOf(part: string, whole: string): boolean {
  let at = 0;
  for (let character = 0; character < whole.length; character++) if (whole[character] === part[at]) at++;
  return at === part.length;
}

const flagsOf = ({ client, scope }: ClientFixture): string[] => ['connect', client, '--scope', scope, '--yes'];

describe('entries', () => {
  for (const client of some(['claude-code', 'cursor', 'vscode', 'codex'], 1)) {
    spec('SRV-11', `${client} starts the server that was written for a project`, async () => {
      const workspace = createServed();
      const run = await wield(workspace, ['connect', client, '--yes', '--json']);
      expect(json(run)).toMatchObject({
        ok: true,
        client,
        scope: 'project',
        name: 'wield',
        changed: true,
        written: true,
      });
      const started = readAsClient(client, readFileSync(json(run).file, 'utf8'), workspace.dir);
      expect(await listTools(workspace, started, workspace.dir)).toContain('greet');
    });
  }

  for (const client of some(['claude-code', 'cursor', 'vscode', 'codex', 'goose', 'claude-desktop'], 2)) {
    spec('SRV-11', `${client} starts the server of this directory from anywhere, in the user scope`, async () => {
      const workspace = createServed();
      const fixture = fixtureOf(client, 'user');
      const path = writeClientFile(workspace, fixture);
      expect((await wield(workspace, flagsOf(fixture))).status).toBe(0);
      const started = readAsClient(client, readFileSync(path, 'utf8'), '/nowhere');
      expect(await listTools(workspace, started, workspace.home)).toContain('greet');
    });
  }

  spec('SRV-11', 'the first page leads to a tool that a client calls, in at most six commands', async () => {
    const [start = ''] = /(?<=^\| put `wield` on your PATH.*\n)(?:\|.*\n){2}/m.exec(readDocument('README.md')) ?? [];
    const commands = [...start.matchAll(/`(wield [^`]+)`/g)].map(([, command]) => command!.split(' ').slice(1));
    expect(commands.map(([verb]) => verb)).toEqual(['init', 'call', 'connect', 'connect']);
    const workspace = createWorkspace();
    // The last one only lists; the first command installs.
    for (const command of commands.slice(0, -1)) {
      const yes = command[0] === 'connect' ? ['--yes'] : [];
      expect((await wield(workspace, [...command, ...yes])).status, command.join(' ')).toBe(0);
    }
    const entry = readAsClient('claude-code', readFileSync(join(workspace.dir, '.mcp.json'), 'utf8'), workspace.dir);
    const client = await connectTo(workspace, entry, workspace.dir);
    const { content } = await client.callTool({ name: 'hello', arguments: { name: 'Ada' } });
    expect(content).toMatchObject([{ type: 'text', text: 'Hello, Ada!\n' }]);
  });

  test('uses the name wield if it is on PATH, and the full path for the user scope', async () => {
    const workspace = createServed();
    const bin = join(workspace.home, 'bin');
    mkdirSync(bin);
    symlinkSync(binary(), join(bin, 'wield'));
    const env = { PATH: `${bin}:${workspace.env.PATH}` };
    await wield(workspace, ['connect', 'claude-code', '--yes'], { env });
    expect(readAsClient('claude-code', readFileSync(join(workspace.dir, '.mcp.json'), 'utf8'), '')).toEqual({
      command: 'wield',
      args: ['serve'],
    });
    await wield(workspace, ['connect', 'claude-code', '--scope', 'user', '--yes'], { env });
    expect(readAsClient('claude-code', readFileSync(join(workspace.home, '.claude.json'), 'utf8'), '')).toEqual({
      command: join(bin, 'wield'),
      args: ['serve', '--cwd', workspace.dir],
    });
  });

  for (const { id, files } of CLIENTS) {
    const paths = files({ workdir: '/work', home: '/home', platform: 'linux', env: {} });
    if (!paths.some(({ scope }) => scope === 'project')) continue;
    finding('N10 SRV-24', `${id}: no path of this machine in a project file`, async () => {
      const workspace = createServed();
      const bin = join(workspace.home, 'bin');
      mkdirSync(bin);
      symlinkSync(binary(), join(bin, 'wield'));
      const env = { PATH: `${bin}:${workspace.env.PATH}` };
      const connected = json(await wield(workspace, ['connect', id, '--yes', '--json'], { env }));
      const text = readFileSync(connected.file, 'utf8');
      if (connected.scope === 'project') {
        expect(text).not.toContain(workspace.dir);
        expect(text).not.toContain(bin);
      } else {
        expect(text).toContain(workspace.dir);
        const refused = await wield(workspace, ['connect', id, '--scope', 'project', '--yes'], { env });
        expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--scope user')]);
      }
    });
  }

  finding('N10 SRV-24', 'says that an entry cannot be shared if wield is not on PATH', async () => {
    const run = await wield(createServed(), ['connect', 'cursor', '--yes']);
    expect(run.stdout).toContain('put wield on your PATH, then connect again');
  });

  finding.thorough('N19 SRV-24', 'undo removes the directories that connecting created, and no others', async () => {
    const workspace = createServed();
    mkdirSync(join(workspace.dir, '.vscode'));
    const before = readdirSync(workspace.home, { recursive: true }).filter(
      (name) => !String(name).startsWith('.wield'),
    );
    for (const { id } of CLIENTS)
      for (const scope of ['project', 'user']) {
        const args = ['connect', id, '--scope', scope, '--yes'];
        if ((await wield(workspace, args)).status === 0)
          expect([id, (await wield(workspace, [...args, '--undo'])).status]).toEqual([id, 0]);
      }
    const after = readdirSync(workspace.home, { recursive: true }).filter((name) => !String(name).startsWith('.wield'));
    expect(after.sort()).toEqual(before.sort());
    expect(readdirSync(workspace.dir).sort()).toEqual(['.agents', '.vscode']);
  });

  test('--print shows the entry and changes nothing', async () => {
    const workspace = createServed();
    const { stdout } = await wield(workspace, ['connect', 'codex', '--print', '--name', 'tools']);
    expect(Object.keys(parseToml(stdout).mcp_servers as object)).toEqual(['tools']);
    expect(existsSync(join(workspace.dir, '.codex'))).toBe(false);
  });
});

describe('consent', () => {
  spec('SRV-11', 'without a terminal, shows the change and writes nothing', async () => {
    const workspace = createServed();
    const run = await wield(workspace, ['connect', 'cursor']);
    expect(run.status).toBe(5);
    expect(run.stdout).toContain('+     "wield": {');
    expect(run.stderr).toContain('--yes');
    expect(json(await wield(workspace, ['connect', 'cursor', '--json'])).error.code).toBe('needs_approval');
    expect(existsSync(join(workspace.dir, '.cursor'))).toBe(false);
    expect(existsSync(join(workspace.env.WIELD_HOME!, 'connect.json'))).toBe(false);
  });

  spec('SRV-11', '--dry-run shows the change and writes nothing', async () => {
    const workspace = createServed();
    const run = json(await wield(workspace, ['connect', 'cursor', '--dry-run', '--json']));
    expect(run).toMatchObject({ ok: true, changed: true, written: false });
    expect(run.diff.join('\n')).toContain('"wield"');
    expect(existsSync(join(workspace.dir, '.cursor'))).toBe(false);
  });

  specIf(hasPty, NO_PTY, 'SRV-11', 'at a terminal, shows the change and asks', async () => {
    const workspace = createServed();
    const no = await wieldAtTerminal(workspace, ['connect', 'cursor'], { answers: [['[y/N]', 'n\n']] });
    expect(no.screen.indexOf('"wield"')).toBeGreaterThan(-1);
    expect(no.screen.indexOf('"wield"')).toBeLessThan(no.screen.indexOf('[y/N]'));
    expect(existsSync(join(workspace.dir, '.cursor/mcp.json'))).toBe(false);
    const yes = await wieldAtTerminal(workspace, ['connect', 'cursor'], { answers: [['[y/N]', 'y\n']] });
    expect(yes.status).toBe(0);
    expect(existsSync(join(workspace.dir, '.cursor/mcp.json'))).toBe(true);
  });

  spec('SRV-11', 'is refused inside a tool', async () => {
    const workspace = createServed();
    workspace.script(
      'sly',
      `#!/bin/sh\n# @description Sly.\n"${process.execPath}" "${binary()}" connect cursor --yes 2>&1\n`,
    );
    const run = await wield(workspace, ['call', 'sly']);
    expect(run.stdout).toContain('from inside a tool call');
    expect(existsSync(join(workspace.dir, '.cursor'))).toBe(false);
  });
});

describe('existing files', () => {
  for (const fixture of CLIENT_FILES) {
    spec(
      'SRV-11',
      `${fixture.client} (${fixture.scope}): connecting keeps every line, undoing every byte`,
      async () => {
        const workspace = createServed();
        const path = writeClientFile(workspace, fixture);
        chmodSync(path, 0o664);
        expect((await wield(workspace, flagsOf(fixture))).status).toBe(0);
        const between = readFileSync(path, 'utf8');
        expect(between).not.toBe(fixture.text);
        expect(isPartOf(fixture.text, between)).toBe(true);
        if (fixture.text.includes('\r\n')) expect(between).not.toMatch(/[^\r]\n/);
        expect(statSync(path).mode & 0o777).toBe(0o664);

        expect((await wield(workspace, [...flagsOf(fixture), '--undo'])).status).toBe(0);
        expect(readFileSync(path, 'utf8')).toBe(fixture.text);
        expect(statSync(path).mode & 0o777).toBe(0o664);
      },
    );
  }

  spec('SRV-11', 'does not write an entry that is already there', async () => {
    const workspace = createServed();
    const fixture = fixtureOf('vscode', 'project');
    const path = writeClientFile(workspace, fixture);
    await wield(workspace, flagsOf(fixture));
    const { mtimeMs } = statSync(path);
    const again = await wield(workspace, flagsOf(fixture));
    expect(again.status).toBe(0);
    expect(again.stdout).toContain('is already connected');
    expect(statSync(path).mtimeMs).toBe(mtimeMs);
  });

  spec('SRV-11', 'replaces an entry only after consent, and restores it', async () => {
    const workspace = createServed();
    const text = '{\n  "mcpServers": {\n    "wield": { "command": "mine" } // mine\n  }\n}\n';
    const path = workspace.write('.cursor/mcp.json', text);
    const refused = await wield(workspace, ['connect', 'cursor']);
    expect(refused.status).toBe(5);
    expect(refused.stdout).toContain('-     "wield": { "command": "mine" } // mine');
    expect(readFileSync(path, 'utf8')).toBe(text);
    await wield(workspace, ['connect', 'cursor', '--yes']);
    expect(parseJsonc(readFileSync(path, 'utf8')).mcpServers.wield.args).toContain('serve');
    expect(statSync(join(workspace.env.WIELD_HOME!, 'connect.json')).mode & 0o777).toBe(0o600);
    await wield(workspace, ['connect', 'cursor', '--undo', '--yes']);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  spec('SRV-11', 'undo keeps later changes', async () => {
    const workspace = createServed();
    for (const fixture of [fixtureOf('vscode', 'project'), fixtureOf('codex', 'user'), fixtureOf('goose', 'user')]) {
      const path = writeClientFile(workspace, fixture);
      await wield(workspace, flagsOf(fixture));
      const comment = fixture.client === 'vscode' ? '// Mine' : '# Mine';
      const edited = `${readFileSync(path, 'utf8').replace('npx', 'bunx')}${comment}\n`;
      writeFileSync(path, edited);
      expect((await wield(workspace, [...flagsOf(fixture), '--undo'])).status).toBe(0);
      expect(readFileSync(path, 'utf8')).toBe(`${fixture.text.replace('npx', 'bunx')}${comment}\n`);
    }
  });

  spec('SRV-11', 'undo keeps servers that were added later', async () => {
    const workspace = createServed();
    await wield(workspace, ['connect', 'cursor', '--yes']);
    const path = join(workspace.dir, '.cursor/mcp.json');
    const document = JSON.parse(readFileSync(path, 'utf8'));
    document.mcpServers = { first: { command: 'a' }, ...document.mcpServers, last: { command: 'b' } };
    writeFileSync(path, `${JSON.stringify(document, null, 4)}\n`);
    await wield(workspace, ['connect', 'cursor', '--undo', '--yes']);
    expect(readFileSync(path, 'utf8')).toBe(
      `${JSON.stringify({ mcpServers: { first: { command: 'a' }, last: { command: 'b' } } }, null, 4)}\n`,
    );
  });

  spec('SRV-11', 'undo removes a file that was created for the entry', async () => {
    const workspace = createServed();
    await wield(workspace, ['connect', 'codex', '--yes']);
    await wield(workspace, ['connect', 'codex', '--undo', '--yes']);
    expect(existsSync(join(workspace.dir, '.codex/config.toml'))).toBe(false);
  });

  spec('SRV-11 SRV-24', 'undo without --scope finds the file that was written', async () => {
    for (const [client, ...flags] of [['kiro'], ['warp'], ['cursor', '--scope', 'user']] as const) {
      const workspace = createServed();
      const { file } = json(await wield(workspace, ['connect', client, ...flags, '--yes', '--json']));
      expect(file).toContain(workspace.home);
      // A project file of the client without the entry.
      workspace.write(file.slice(workspace.home.length + 1), '{ "mcpServers": {} }');
      const undone = json(await wield(workspace, ['connect', client, '--undo', '--yes', '--json']));
      expect(undone).toMatchObject({ file, changed: true, written: true });
      expect(existsSync(file)).toBe(false);
    }
  });

  spec('SRV-11', '--yes does not undo an entry that was edited later', async () => {
    const workspace = createServed();
    await wield(workspace, ['connect', 'cursor', '--yes']);
    const path = join(workspace.dir, '.cursor/mcp.json');
    const edited = readFileSync(path, 'utf8').replace('"args"', '"env": { "A": "1" },\n      "args"');
    writeFileSync(path, edited);
    const run = await wield(workspace, ['connect', 'cursor', '--undo', '--yes']);
    expect(run.status).toBe(4);
    expect(run.stderr).toContain('was changed since');
    expect(readFileSync(path, 'utf8')).toBe(edited);
  });

  spec('SRV-11', 'does not remove servers of others, and reports a missing entry', async () => {
    const workspace = createServed();
    workspace.write('.cursor/mcp.json', '{ "mcpServers": { "wield": { "command": "mine" } } }');
    expect((await wield(workspace, ['connect', 'cursor', '--undo', '--yes'])).status).toBe(4);
    const run = await wield(workspace, ['connect', 'codex', '--undo', '--yes']);
    expect(run.status).toBe(0);
    expect(run.stdout).toContain('is not connected');
  });

  spec('SRV-11', 'follows and keeps symbolic links', async () => {
    const workspace = createServed();
    const fixture = fixtureOf('codex', 'user');
    const path = writeClientFile(workspace, fixture);
    const target = join(workspace.home, 'dotfiles.toml');
    renameSync(path, target);
    symlinkSync(target, path);
    await wield(workspace, flagsOf(fixture));
    expect(readlinkSync(path)).toBe(target);
    expect(readFileSync(target, 'utf8')).toContain('[mcp_servers.wield]\ncommand');
    await wield(workspace, [...flagsOf(fixture), '--undo']);
    expect(readlinkSync(path)).toBe(target);
    expect(readFileSync(target, 'utf8')).toBe(fixture.text);
  });
});

describe('files that cannot be edited', () => {
  const broken: [string, string, string, RegExp][] = [
    ['cursor', '.cursor/mcp.json', '{\n  "mcpServers": {\n    "a": \n  }\n}\n', /mcp\.json:4/],
    ['codex', '.codex/config.toml', 'model = "x"\n[mcp_servers\n', /config\.toml:2/],
    ['cursor', '.cursor/mcp.json', '{ "mcpServers": [] }', /mcpServers must be an object/],
    [
      'codex',
      '.codex/config.toml',
      'model = "x"\nmcp_servers = { a = { command = "a" } }\n',
      /config\.toml:2: mcp_servers cannot be added to; write it as tables such as \[mcp_servers\.NAME\]/,
    ],
    ['codex', '.codex/config.toml', '[mcp_servers]\nwield = { command = "a" }\n', /toml:2: .* not a separate table/],
    [
      'cursor',
      '.cursor/mcp.json',
      '{\n  "mcpServers": {},\n  "mcpServers": {}\n}\n',
      /mcp\.json:3: has the key "mcpServers" twice/,
    ],
  ];
  for (const [client, file, text, message] of broken) {
    spec('SRV-11', `${client}: ${JSON.stringify(text)} is rejected with its line and left as it is`, async () => {
      const workspace = createServed();
      const path = workspace.write(file, text);
      const run = await wield(workspace, ['connect', client, '--yes']);
      expect(run.status).toBe(2);
      expect(run.stderr).toMatch(message);
      expect(run.stderr).toContain('hint');
      expect(readFileSync(path, 'utf8')).toBe(text);
    });
  }

  spec('SRV-11', 'large integers elsewhere in a file do not matter', async () => {
    const workspace = createServed();
    const text = 'seed = 9223372036854775807\n';
    const path = workspace.write('.codex/config.toml', text);
    expect((await wield(workspace, ['connect', 'codex', '--yes'])).status).toBe(0);
    expect(readFileSync(path, 'utf8').startsWith(`${text}\n[mcp_servers.wield]\n`)).toBe(true);
    expect((await wield(workspace, ['connect', 'codex', '--undo', '--yes'])).status).toBe(0);
    expect(readFileSync(path, 'utf8')).toBe(text);
  });

  spec('SRV-11', 'rejects files that are not UTF-8', async () => {
    const workspace = createServed();
    const bytes = Buffer.from('{ "a": "\xff" }', 'latin1');
    const path = workspace.write('.cursor/mcp.json', bytes);
    expect((await wield(workspace, ['connect', 'cursor', '--yes'])).status).toBe(2);
    expect(readFileSync(path)).toEqual(bytes);
  });
});

describe('the list of clients', () => {
  spec('SRV-11', 'lists all clients with those found and connected', async () => {
    const workspace = createServed();
    writeClientFile(workspace, fixtureOf('windsurf', 'user'));
    await wield(workspace, ['connect', 'cursor', '--yes']);
    const { clients } = json(await wield(workspace, ['connect', '--json']));
    const byId = new Map(clients.map((client: { id: string }) => [client.id, client]));
    expect(byId.get('windsurf')).toMatchObject({ found: true, connected: false });
    expect(byId.get('cursor')).toMatchObject({ found: true, connected: true });
    expect(byId.get('zed')).toMatchObject({ found: false, connected: false });
    expect([...new Set(CLIENT_FILES.map((fixture) => fixture.client))].sort()).toEqual([...byId.keys()].sort());
    expect((await wield(workspace, ['connect'])).stdout).toMatch(/cursor +Cursor +connected/);
  });

  spec('SRV-11', 'suggests a similar name for an unknown client', async () => {
    const workspace = createServed();
    const run = await wield(workspace, ['connect', 'claude-cod']);
    expect(run.status).toBe(2);
    expect(run.stderr).toContain('did you mean claude-code?');
    expect((await wield(workspace, ['connect', 'windsurf', '--scope', 'project'])).status).toBe(2);
  });

  spec('SRV-11', 'the diff shows no surrounding lines', async () => {
    const workspace = createServed();
    const fixture = fixtureOf('cursor', 'project');
    writeClientFile(workspace, fixture);
    const run = await wield(workspace, ['connect', 'cursor', '--dry-run']);
    expect(run.stdout).toContain('"wield"');
    expect(run.stdout).not.toContain('sk-seeded');
  });

  test('a trusted workspace stays trusted after a confirmed change', async () => {
    const workspace = createServed();
    await wield(workspace, ['trust', '--yes']);
    await wield(workspace, ['connect', 'claude-code', '--yes']);
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);
    await wield(workspace, ['connect', 'claude-code', '--undo', '--yes']);
    expect(workspace.toolbox().state.trust.isTrusted(workspace.dir)).toBe(true);
  });
});

spec('SRV-91', 'says what keeps a client from starting wield, and how to change that', async () => {
  const workspace = createServed();
  const settings = join(workspace.home, '.gemini');
  mkdirSync(settings, { recursive: true });
  const connect = async () => (await wield(workspace, ['connect', 'gemini-cli', '--scope', 'user', '--yes'])).stdout;
  writeFileSync(join(settings, 'mcp-server-enablement.json'), '{"wield":{"enabled":false}}');
  expect(await connect()).toContain(
    'disabled   Gemini CLI does not start it yet: it is disabled there; run: gemini mcp enable wield',
  );
  // Also if nothing is to be written.
  expect(await connect()).toContain('gemini mcp enable wield');
  writeFileSync(join(settings, 'mcp-server-enablement.json'), '{}');
  expect(await connect()).not.toContain('disabled');
  const file = join(settings, 'settings.json');
  const write = (mcp: object) =>
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), mcp }));
  write({ excluded: ['wield'] });
  expect(await connect()).toContain('remove "wield" from mcp.excluded');
  write({ allowed: ['other'] });
  expect(await connect()).toContain('add "wield" to mcp.allowed');
});

describe.concurrent('the next step', () => {
  spec('SRV-92', 'is printed for every client and scope, and is in the JSON', async () => {
    for (const { id, files } of CLIENTS) {
      const workspace = createServed();
      const { dir: workdir, home, env } = workspace;
      const found = files({ workdir, home, env, platform: 'linux' }).map(({ scope }) => scope);
      for (const scope of id === 'kiro' || id === 'warp' ? ['user'] : new Set(found)) {
        const planned = json(await wield(workspace, ['connect', id, '--scope', scope, '--dry-run', '--json']));
        expect([id, planned.next]).toEqual([id, expect.stringMatching(/^[a-z].{10,}[^.]$/)]);
      }
    }
  });

  for (const [client, step] of [
    ['codex', 'run codex in this directory and trust it'],
    ['claude-code', 'run claude in this directory and approve the server'],
    ['gemini-cli', 'run gemini in this directory and trust the folder'],
  ] as const)
    spec('SRV-92', `of ${client} is shown after each connection, and not after undoing it`, async () => {
      const workspace = createServed();
      const connect = async (...flags: string[]) =>
        (await wield(workspace, ['connect', client, '--yes', ...flags])).stdout;
      expect(await connect()).toContain(`  next       ${step}`);
      expect(await connect()).toContain(`  next       ${step}`);
      expect(await connect('--undo')).not.toContain('next ');
    });

  spec('SRV-92', 'of Codex and Claude Code is another one in the user scope', async () => {
    const workspace = createServed();
    for (const client of ['codex', 'claude-code']) {
      const { next } = json(await wield(workspace, ['connect', client, '--scope', 'user', '--yes', '--json']));
      expect(next).toMatch(/^start \w+ again; \w+ mcp list shows it$/);
    }
  });
});
