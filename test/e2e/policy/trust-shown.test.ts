// Trust: what is shown before it is given, and what `init` and `new` do where something is already there.

import { chmodSync, existsSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createAskingWorkspace } from '../../support/approvals.js';
import { logRecords } from '../../support/audit.js';
import { json, wield } from '../../support/cli.js';
import { connectAsking } from '../../support/clients.js';
import { moduleText } from '../../support/modules.js';
import { hasPty, wieldAtTerminal } from '../../support/pty.js';
import { shellScript } from '../../support/shell-script.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const SERVER = { mcpServers: { far: { command: 'sh', args: ['-c', 'touch started-server; cat'] } } };

function createCheckout(): Workspace {
  const workspace = createWorkspace();
  workspace.write('.mcp.json', JSON.stringify(SERVER));
  workspace.script('greet', shellScript('echo hello'));
  workspace.write(
    '.agents/tools/typed.tool.mjs',
    "import { writeFileSync } from 'node:fs'; writeFileSync('loaded', '');",
  );
  return workspace;
}

const trustFile = (workspace: Workspace): boolean => existsSync(join(workspace.env.WIELD_HOME!, 'trust.json'));

describe('wield trust', () => {
  spec('POL-33', 'shows tools with files and servers with commands, and starts nothing', async () => {
    const workspace = createCheckout();
    const dry = await wield(workspace, ['trust', '--dry-run']);
    for (const text of ['greet', '.agents/tools/greet', 'typed', 'far', 'touch started-server', '.mcp.json'])
      expect(dry.stdout).toContain(text);
    expect(trustFile(workspace)).toBe(false);
    expect(json(await wield(workspace, ['trust', '--dry-run', '--json']))).toMatchObject({ trusted: false });
    const { stdout } = await wield(workspace, ['trust', '--yes']);
    expect(stdout.indexOf('touch started-server')).toBeLessThan(stdout.indexOf('  trusted  '));
    expect(json(await wield(workspace, ['trust', '--yes', '--json']))).toMatchObject({
      trusted: true,
      tools: expect.arrayContaining(['greet']),
      servers: [{ name: 'far', file: '.mcp.json' }],
    });
    for (const name of ['started-server', 'loaded'])
      expect([name, existsSync(join(workspace.dir, name))]).toEqual([name, false]);
  });

  specIf(
    hasPty,
    'needs script(1)',
    'POL-33',
    'asks at a terminal, unless --yes is given',
    async () => {
      const workspace = createCheckout();
      const asked = await wieldAtTerminal(workspace, ['trust'], { answers: [['[y/N]', 'n\n']] });
      expect(asked.screen.indexOf('touch started-server')).toBeLessThan(asked.screen.indexOf('[y/N]'));
      expect(asked.screen).toContain('nothing was changed');
      expect(trustFile(workspace)).toBe(false);
      expect((await wieldAtTerminal(workspace, ['trust', '--yes'])).screen).toContain('  trusted  ');
      expect(trustFile(workspace)).toBe(true);
    },
    60_000,
  );
});

const SCRIPT = '#!/bin/sh\n# @description Says hi.\necho hi\n';
const MODULE = moduleText('evil', '() => 1');

describe('the review of a workspace', () => {
  // By file: what hides it, and the name that it is shown by.
  const HIDDEN: Record<string, [files: Record<string, string>, name: string]> = {
    '.agents/tools/hi': [{ '.agents/tools/hi.tool.mjs': MODULE }, 'hi'],
    '.agents/tools/hi.tool.mjs': [{ '.agents/tools/hi': SCRIPT }, 'hi'],
    '.agents/tools/group/hi.tool.mjs': [{ '.agents/tools/hi.tool.mjs': MODULE }, 'hi'],
    '.agents/tools/denied': [{ '.agents/config.toml': 'allowed-tools = "* denied($deny)"\n' }, 'denied'],
    '.agents/tools/near': [{ '.mcp.json': JSON.stringify({ mcpServers: { local: { command: 'true' } } }) }, 'near'],
    '../home/.agents/mcp.json': [{ '.mcp.json': JSON.stringify(SERVER) }, 'far'],
    'skills/other/SKILL.md': [{ '.agents/tools/m.tool.mjs': MODULE }, 'skills/other/SKILL.md'],
  };
  for (const stem of ['read me', 'ü', 'a.b', '-dash', 'x'.repeat(70)]) {
    const file = `.agents/tools/${stem}.tool.mjs`;
    HIDDEN[file] = [{}, file];
  }
  const contentOf = (file: string): string => {
    if (file.endsWith('.mjs')) return MODULE;
    if (file.endsWith('.json')) return JSON.stringify({ mcpServers: { far: { command: 'true' } } });
    if (file.endsWith('.md')) return '---\nname: other\ndescription: O.\nmetadata:\n  delegate: evil\n---\n';
    return SCRIPT;
  };
  for (const [file, [others, name]] of Object.entries(HIDDEN))
    spec('POL-33', `has ${file}, hidden by ${Object.keys(others).join() || 'its name'}`, async () => {
      const workspace = createWorkspace();
      for (const [path, text] of Object.entries({ ...others, [file]: contentOf(file) }))
        chmodSync(workspace.write(path, text), 0o755);
      const shown = file.startsWith('..') ? '.mcp.json' : file;
      const { tools, files, servers } = json(await wield(workspace, ['trust', '--dry-run', '--json']));
      expect([...files, ...servers]).toContainEqual(expect.objectContaining({ name, file: shown }));
      expect([...tools, ...servers.map((server: { name: string }) => server.name)]).toContain(name);
      expect((await wield(workspace, ['trust', '--dry-run'])).stdout).toContain(shown);
      expect((await wield(workspace, ['new', 'greet'])).stdout).toContain('wield trust');
      expect(trustFile(workspace)).toBe(false);
    });

  spec('POL-33 RES-46', 'has links out of it, of files and directories', async () => {
    const workspace = createWorkspace();
    workspace.write('../elsewhere/SKILL.md', '---\nname: elsewhere\ndescription: E.\n---\n');
    workspace.write('.agents/tools/greet', SCRIPT);
    const outside = join(workspace.dir, '..', 'elsewhere');
    symlinkSync(outside, join(workspace.dir, 'skills'));
    symlinkSync(join(outside, 'SKILL.md'), join(workspace.dir, '.agents/tools/linked'));
    const { files } = json(await wield(workspace, ['trust', '--dry-run', '--json']));
    expect(files.map(({ file }: { file: string }) => file)).toEqual(
      expect.arrayContaining(['skills', '.agents/tools/linked']),
    );
  });

  spec('POL-33 MOD-33', 'has modules that have only resources, also those that were loaded before', async () => {
    const workspace = createWorkspace();
    const file = '.agents/tools/notes.tool.mjs';
    const resource = "{ uri: 'notes://today', name: 'today', read: () => 'x' }";
    workspace.write(file, `import { defineResource } from 'wield';\nexport const today = defineResource(${resource});`);
    const review = async () => json(await wield(workspace, ['trust', '--dry-run', '--json'])).files;
    expect(await review()).toEqual([{ name: 'notes', format: 'module', file }]);
    await wield(workspace, ['trust', '--yes']);
    await workspace.toolbox().list();
    await wield(workspace, ['trust', '--revoke']);
    expect(await review()).toEqual([{ name: file, format: 'module', file }]);
  });
});

describe('wield init and wield new', () => {
  const EXISTING: Record<string, string> = {
    '.mcp.json': JSON.stringify(SERVER),
    'skills/x/SKILL.md': '---\nname: x\ndescription: X.\n---\nX\n',
    'tools/x/SKILL.md': '---\nname: x\ndescription: X.\n---\nX\n',
    '.agents/mcp.json': JSON.stringify(SERVER),
  };
  for (const [file, text] of Object.entries(EXISTING))
    spec('POL-33 CLI-5', `leave a directory with ${file} untrusted, and say so`, async () => {
      for (const args of [['init'], ['new', 'greet']]) {
        const workspace = createWorkspace();
        workspace.write(`checkout/${file}`, text);
        const cwd = join(workspace.dir, 'checkout');
        const run = await wield(workspace, args, { cwd });
        expect([args, run.status, run.stdout]).toEqual([args, 0, expect.stringContaining('wield trust')]);
        expect(trustFile(workspace)).toBe(false);
      }
    });

  spec('POL-33 CLI-5', 'trust what they create in an empty directory, and say so', async () => {
    for (const args of [['init'], ['new', 'greet']]) {
      const workspace = createWorkspace();
      workspace.write('empty/README', '');
      const run = await wield(workspace, args, { cwd: join(workspace.dir, 'empty') });
      expect([args, run.stdout]).toEqual([args, expect.stringMatching(/trusted {2}this workspace/)]);
    }
  });
});

describe('a form', () => {
  spec('POL-6 OBS-1', 'that is closed is not recorded as a decision of a person', async () => {
    const workspace = createAskingWorkspace();
    const client = await connectAsking(workspace, 'older', 'stdio', () => ({ action: 'cancel' }));
    const result = await client.callTool({ name: 'deploy', arguments: { branch: 'main' } });
    expect(JSON.stringify(result.content)).toContain('closed without an answer');
    await client.close();
    expect(logRecords(workspace).at(-1)).toMatchObject({ decision: { by: 'nobody', how: null } });
  });
});
