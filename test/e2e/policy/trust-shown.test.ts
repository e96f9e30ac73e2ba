// Trust: what is shown before it is given, and what `init` and `new` do where something is already there.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { createAskingWorkspace } from '../../support/approvals.js';
import { logRecords } from '../../support/audit.js';
import { json, wield } from '../../support/cli.js';
import { connectAsking } from '../../support/clients.js';
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
