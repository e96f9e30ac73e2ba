// Tests of messages for people: reasons in words, suggestions for unknown names, commands in hints.

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { json, wield } from '../../support/cli.js';
import { isRoot, NOT_USER } from '../../support/machine.js';
import { shellScript } from '../../support/shell-script.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const RAW = /\bE[A-Z]{3,}\b|, (?:open|scandir|mkdir|lstat|stat|rename) '/;

describe.concurrent('messages', () => {
  spec('CLI-36', 'the reason of a file that cannot be used is in words, without a code', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hi', '@param *name string Who'));
    workspace.write('file', 'x');
    for (const args of [
      ['run', 'nosuch.js'],
      ['call', 'hello', '--input', '@nosuch'],
      ['call', 'hello', '--input', '@.'],
      ['call', 'hello', '--input', '@file/below'],
      ['check', 'nosuch'],
      ['replay', 'nosuch'],
      ['diff', 'nosuch', 'other'],
      ['record', 'file/below', 'list'],
      ['new', 'x', '--openapi', 'nosuch'],
      ['add', './nosuch'],
      ['add', './nosuch.openapi.json'],
      ['mcp', 'import', './nosuch.json'],
      ['mcp', 'add', './nosuch.json'],
      ['trust', 'nosuch'],
      ['serve', '--http', '0', '--token-file', 'nosuch'],
      ['serve', '--http', '0', '--token-file', '.'],
      ['init', '--index', 'nosuch'],
      ['init', '--source', 'file'],
      ['--cwd', 'nosuch', 'list'],
      ['list', '--manifest', '--output', 'file/below'],
      ['install', '--frozen', '--yes'],
    ]) {
      const { status, stderr } = await wield(workspace, args);
      expect([args, status === 0, stderr]).toEqual([args, false, expect.stringMatching(/^error {2}/m)]);
      expect(stderr).not.toMatch(RAW);
    }
  });

  spec('CLI-36', 'a state file that cannot be written is reported without a code', async () => {
    const workspace = createWorkspace();
    writeFileSync(join(workspace.home, '.wield'), 'in the way');
    for (const args of [['trust', '--yes'], ['doctor'], ['approvals']]) {
      const { stdout, stderr } = await wield(workspace, args);
      expect(`${stdout}${stderr}`).not.toMatch(RAW);
    }
  });

  specIf(!isRoot, NOT_USER, 'CLI-36', 'so is one in a home that is read-only', async () => {
    const workspace = createWorkspace();
    chmodSync(workspace.home, 0o555);
    const { status, stderr } = await wield(workspace, ['trust', '--yes']);
    expect([status, stderr]).toEqual([8, expect.stringMatching(/^error {2}cannot write to .*: permission denied$/m)]);
  });

  spec('CLI-36', 'an unknown name suggests the one that was meant', async () => {
    const workspace = createWorkspace();
    workspace.script('hello', shellScript('echo hi'));
    await wield(workspace, ['mcp', 'add', 'files', '--yes', '--', 'ls']);
    for (const [args, meant] of [
      [['connect', 'clade'], 'claude-code'],
      [['connect', 'Claude'], 'claude-code'],
      [['connect', 'curser'], 'cursor'],
      [['mcp', 'import', 'vscod'], 'vscode'],
      [['mcp', 'refresh', 'file'], 'files'],
      [['mcp', 'remove', 'fils', '--yes'], 'files'],
      [['call', 'helo'], 'hello'],
      [['show', 'helo'], 'hello'],
      [['explain', 'helo'], 'hello'],
      [['remove', 'helo'], 'hello'],
      [['instal', 'x'], 'wield install'],
      [['approvals', 'aprove', 'x'], 'approve'],
      [['config', 'homes', 'ad', 'x'], 'add'],
      [['fleet', 'stats'], 'status'],
      [['hooks', 'rum', 'x'], 'run'],
      [['add', '--import', 'mnd'], 'mind'],
    ] as const) {
      const { status, stderr } = await wield(workspace, args);
      expect([args, status === 0, stderr]).toEqual([args, false, expect.stringMatching(/did you mean/)]);
      expect([args, stderr]).toEqual([args, expect.stringContaining(meant)]);
    }
  });

  spec('CLI-36', 'an address is not stored as the command of a server', async () => {
    const workspace = createWorkspace();
    for (const word of ['http//bad', 'http://localhost:1/mcp', 'https:/x', 'ftp://x', 'HTTPS://x']) {
      const { status, stderr } = await wield(workspace, ['mcp', 'add', 'y', '--yes', word]);
      expect([word, status, stderr]).toEqual([word, 2, expect.stringContaining('--url')]);
    }
    const { stderr } = await wield(workspace, ['mcp', 'add', 'y', '--yes', 'https://example.com/mcp']);
    expect(stderr).toContain('--url https://example.com/mcp');
    expect((await wield(workspace, ['mcp', 'add', 'y', '--yes', '--url', 'http//bad'])).status).toBe(2);
  });

  spec('CLI-36', 'a path without a tool says whether something is there, to people only', async () => {
    const workspace = createWorkspace();
    workspace.write('plain.py', 'print("hi")\n');
    workspace.write('folder/x', '');
    for (const [path, why] of [
      ['./nosuch', 'the file does not exist'],
      ['./plain.py', 'the file is not one of a tool'],
      ['./folder', 'it is a directory without SKILL.md'],
    ] as const) {
      expect((await wield(workspace, ['call', path])).stderr).toContain(why);
      const model = await workspace.toolbox().call(path, {}, { caller: { kind: 'model', door: 'mcp' } });
      expect([model.error?.code, JSON.stringify(model.error).includes(why)]).toEqual(['not_found', false]);
    }
  });

  spec('CLI-36', 'hints at a shell name commands', async () => {
    const workspace = createWorkspace();
    const { stderr } = await wield(workspace, ['context', 'read', 'nosuch']);
    expect(stderr).toContain('wield context tree shows all documents');
    expect(stderr).not.toContain('context_');
    await wield(workspace, ['context', 'write', 'a.md', '--content', 'hi']);
    const { stdout } = await wield(workspace, ['context', 'delete', 'a.md']);
    expect(stdout).toBe('deleted a.md; restore brings it back\n');
    const gone = await wield(workspace, ['context', 'read', 'a.md']);
    expect(gone.stderr).toContain('it was deleted; wield context read --version 1 reads it');
  });

  spec('CLI-36', 'what looks like the name of a tool or of a file is answered with the command for it', async () => {
    const workspace = createWorkspace();
    const hintOf = async (...args: string[]) => json(await wield(workspace, [...args, '--json'])).error.hint;
    expect(await hintOf('run', 'hello')).toBe('check the path of the program; if it is a tool: wield call hello');
    expect(await hintOf('run', 'missing.js')).toBe('check the path of the program');
    expect(await hintOf('new', 'greet.py')).toBe('wield new greet --python');
    expect(await hintOf('new', 'greet.exe')).toBe('use at most 64 letters, digits, _ and -');
  });

  spec('CLI-36', 'a connection that failed names the proxy that is not used', async () => {
    const workspace = createWorkspace();
    const env = { HTTPS_PROXY: 'http://proxy.example:3128' };
    const args = ['add', 'http://nowhere.invalid/x.openapi.json', '--yes'];
    const { stderr } = await wield(workspace, args, { env });
    expect(stderr).toContain('HTTPS_PROXY is set, but wield uses only a proxy of its own configuration');
    expect((await wield(workspace, args)).stderr).not.toContain('PROXY');
    const json = await wield(workspace, [...args, '--json'], { env });
    expect(JSON.parse(json.stdout).error.hint).toContain('HTTPS_PROXY');
    await wield(workspace, ['mcp', 'add', 'far', '--yes', '--url', 'http://nowhere.invalid/mcp']);
    expect((await wield(workspace, ['mcp', 'refresh', 'far'], { env })).stderr).toContain('HTTPS_PROXY');
  });
});
