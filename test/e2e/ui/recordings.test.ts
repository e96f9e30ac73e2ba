// `wield record`, `wield replay` and `wield diff`.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { createIo, json, runCommand, wield } from '../../support/cli.js';
import { NO_MOUNT } from '../../support/machine.js';
import { canMount } from '../../support/mounts.js';
import { createSession } from '../../support/server.js';
import { onEnd, share } from '../../support/share.js';
import { spec, specIf } from '../../support/spec.js';
import { configureServers } from '../../support/upstream-servers.js';
import { createWorkspace } from '../../support/workspace.js';

const OFFERS = fileURLToPath(new URL('../../support/offers-server.mjs', import.meta.url));

const workspaceOf = share(() => {
  const workspace = createWorkspace();
  workspace.script(
    'hello',
    '#!/bin/sh\n# @description Say hello.\n# @param *name string Whom\n# @param api_key string Key\necho ran >> "$WIELD_WORKDIR/ran"\necho "Hello, $WIELD_PARAM_NAME! $WIELD_PARAM_API_KEY"\n',
  );
  workspace.script('fail', '#!/bin/sh\n# @description Fail.\necho "no luck" >&2\nexit 3\n');
  workspace.config('[trust]\nrules = "banned($deny)"\n');
  return workspace;
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into documents whose shape they are there to prove
type Answer = any;

const runs = (): number => {
  const file = join(workspaceOf().dir, 'ran');
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').length - 1 : 0;
};

const run = (...args: string[]) => wield(workspaceOf(), args);

describe('recordings', () => {
  specIf(canMount(), NO_MOUNT, 'UI-13', 'on a full disk are reported, and have whole calls', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'large',
      '#!/bin/sh\n# @description x\n# @param n integer x\nhead -c "$WIELD_PARAM_N" /dev/zero | tr "\\0" x\n',
    );
    const disk = join(workspace.dir, 'disk');
    mkdirSync(disk);
    expect(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'none', disk]).status).toBe(0);
    onEnd(() => spawnSync('umount', ['-l', disk]));
    workspace.write('many.ts', 'for (let at = 0; at < 20; at++) await tools.large({ n: 2000 });\n');
    const some = await wield(workspace, ['record', 'disk/some.ndjson', 'run', 'many.ts']);
    expect([some.status, some.stderr]).toEqual([
      8,
      expect.stringContaining('not all calls were recorded in disk/some'),
    ]);
    const lines = readFileSync(join(disk, 'some.ndjson'), 'utf8').trimEnd().split('\n');
    const [head, tool, ...calls] = lines.map((line) => JSON.parse(line).type);
    expect([head, tool, new Set(calls)]).toEqual(['recording', 'tool', new Set(['call'])]);
    expect(some.stderr).toContain(`recorded ${calls.length} call`);
    const none = await wield(workspace, ['record', 'disk/none.ndjson', 'call', 'large', '--n', '20000']);
    expect([none.status, existsSync(join(disk, 'none.ndjson'))]).toEqual([8, false]);
  });

  spec('UI-13', 'have every call with input and result, without secrets, in a private file', async () => {
    const workspace = workspaceOf();
    const first = await run('record', 'a.ndjson', 'call', 'hello', '--name', 'Ada', '--api_key', 'sk-very-secret');
    expect([first.status, first.stdout]).toEqual([0, 'Hello, Ada! sk-very-secret\n']);
    expect(first.stderr).toContain('recorded 1 call in a.ndjson\n');
    const file = join(workspace.dir, 'a.ndjson');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain('sk-very-secret');
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { type: 'recording', version: 1 },
      { type: 'tool', name: 'hello', description: 'Say hello.', input: { required: ['name'] } },
      {
        type: 'call',
        tool: 'hello',
        input: { name: 'Ada' },
        verdict: 'allow',
        caller: { kind: 'person', door: 'cli' },
      },
    ]);
    const again = await run('record', 'a.ndjson', 'call', 'hello', '--name', 'Ada');
    expect([again.status, again.stderr]).toEqual([8, expect.stringContaining('a.ndjson exists')]);
    expect((await run('record')).status).toBe(2);
    expect((await run('record', 'none.ndjson', 'nosuchverb')).status).toBe(2);
    expect(existsSync(join(workspace.dir, 'none.ndjson'))).toBe(false);
    const failed = await run('record', 'failed.ndjson', 'fail');
    expect(failed.status).toBe(1);
    expect(readFileSync(join(workspace.dir, 'failed.ndjson'), 'utf8')).toContain('"code":"tool_failed"');
  });

  spec('UI-14', 'are replayed without running anything, failures too', async () => {
    const before = runs();
    const same = await run('replay', 'a.ndjson', 'call', 'hello', '--name', 'Ada', '--api_key', 'sk-another');
    expect([same.status, same.stdout]).toEqual([0, 'Hello, Ada! [redacted]\n']);
    const failed = await run('replay', 'failed.ndjson', 'fail', '--json');
    const original = await run('fail', '--json');
    expect([failed.status, json(failed).error]).toEqual([original.status, json(original).error]);
    const other = json(await run('replay', 'a.ndjson', 'call', 'hello', '--name', 'Eve', '--json'));
    expect(other.error).toMatchObject({ code: 'not_found' });
    expect(other.error.message).toContain('not called with this input');
    const unknown = json(await run('replay', 'a.ndjson', 'call', 'fail', '--json'));
    expect(unknown.error.code).toBe('not_found');
    expect(runs()).toBe(before);
    expect(json(await run('replay', 'a.ndjson', 'list', '--json')).tools).toMatchObject([{ name: 'hello' }]);
  });

  spec('UI-13 UI-14', 'are replayed by the same command line, with defaults, groups and positionals', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/tools/count.tool.mjs',
      `export default { name: 'count', description: 'x', cli: { positional: ['to'] }, execute: (given) => JSON.stringify(given),
        inputSchema: { type: 'object', properties: { from: { type: 'integer', default: 4 }, to: { type: 'integer' } } } };`,
    );
    workspace.write('.agents/tools/sh', '#!/bin/sh\n# @description x\n# @param n integer=4 x\ncat\n', 0o755);
    workspace.write(
      '.agents/skills/sk/SKILL.md',
      '---\nname: sk\ndescription: x\nparams:\n  n: { type: integer, default: 3 }\n---\nhi ${n}\n',
    );
    await wield(workspace, ['trust', '--yes']);
    const lines = [
      'call count',
      'count 5',
      'call sh',
      'call sk',
      'context write n.md --content hi',
      'context pipe sh p.md',
    ];
    for (const [at, line] of lines.entries()) {
      const words = line.split(' ');
      const recorded = await wield(workspace, ['record', `${at}.ndjson`, ...words]);
      const replayed = await wield(workspace, ['replay', `${at}.ndjson`, ...words]);
      expect([line, recorded.status, replayed.status, replayed.stdout.trim()]).toEqual([
        line,
        0,
        0,
        recorded.stdout.trim(),
      ]);
    }
    const given = await wield(workspace, ['replay', '0.ndjson', 'call', 'count', '--from', '4']);
    expect([given.status, given.stdout]).toEqual([0, '{"from":4}\n']);
  });

  spec('UI-13 UI-14', 'have the whole input of a call whose tool is not known', async () => {
    const workspace = createWorkspace();
    workspace.write('.agents/tools/m.tool.mjs', 'export default { description: "x", execute: () => "x" };\n');
    for (const [at, name] of ['m', 'nosuch'].entries()) {
      const words = ['call', name, '--input', '{"a":"7"}'];
      const recorded = await wield(workspace, ['record', `${at}.ndjson`, ...words]);
      const last = readFileSync(join(workspace.dir, `${at}.ndjson`), 'utf8')
        .trimEnd()
        .split('\n')
        .at(-1)!;
      expect(JSON.parse(last).input).toEqual({ a: '7' });
      const replayed = await wield(workspace, ['replay', `${at}.ndjson`, ...words]);
      expect([replayed.status, replayed.stdout]).toEqual([recorded.status, recorded.stdout]);
    }
    // It may be a parameter of the tool.
    const text = await wield(workspace, ['call', 'm', '--input', 'no JSON', '--json']);
    expect(json(text).error.code).toBe('needs_trust');
  });

  spec('UI-13 UI-14', 'are made and served over MCP in place of wield serve', async () => {
    const workspace = workspaceOf();
    const session = async (...args: string[]) => {
      const input = new PassThrough();
      const { session, receiveText } = createSession((line) => input.write(line));
      const onOutput = (chunk: Uint8Array): void => receiveText(Buffer.from(chunk).toString('utf8'));
      const { io } = createIo(workspace, { input, onOutput });
      const ended = runCommand(args, io);
      onEnd(() => input.end());
      await session.initialize();
      const answer = await session.request(2, 'tools/call', { name: 'hello', arguments: { name: 'Ida' } });
      const { tools } = (await session.request(3, 'tools/list', {})).result as { tools: { name: string }[] };
      input.end();
      expect(await ended).toBe(0);
      return { answer: answer.result as object, tools: tools.map(({ name }) => name) };
    };
    const recorded = await session('record', 'mcp.ndjson', 'serve', '--trust');
    const before = runs();
    rmSync(join(workspace.dir, '.agents'), { recursive: true });
    const replayed = await session('replay', 'mcp.ndjson');
    expect(replayed.answer).toEqual(recorded.answer);
    expect(replayed.tools).toEqual(['hello']);
    expect(runs()).toBe(before);
  });

  spec('UI-14', 'replay prompts and resources too, without their server', async () => {
    const workspace = createWorkspace();
    const file = join(workspace.home, 'offers.json');
    const resources = [{ uri: 'notes://one', name: 'one', mimeType: 'text/plain' }];
    const prompts = [{ name: 'review', description: 'Review a note.', arguments: [{ name: 'note', required: true }] }];
    writeFileSync(file, JSON.stringify({ resources, prompts }));
    const args = [OFFERS, join(workspace.home, 'far.starts'), file];
    configureServers(workspace, { far: { command: process.execPath, args } });
    const session = async (...words: string[]) => {
      const input = new PassThrough();
      const { session, receiveText } = createSession((line) => input.write(line));
      const onOutput = (chunk: Uint8Array): void => receiveText(Buffer.from(chunk).toString('utf8'));
      const ended = runCommand(words, createIo(workspace, { input, onOutput }).io);
      onEnd(() => input.end());
      await session.initialize();
      const ask = async (id: number, method: string, params: object) =>
        (await session.request(id, method, params)) as Answer;
      const listed = (await ask(2, 'prompts/list', {})).result.prompts;
      const ref = { type: 'ref/prompt', name: 'far_review' };
      await ask(3, 'completion/complete', { ref, argument: { name: 'note', value: 'o' } });
      const made = await ask(4, 'prompts/get', { name: 'far_review', arguments: { note: 'one' } });
      const read = await ask(5, 'resources/read', { uri: 'mcp://far/notes://one' });
      const other = await ask(6, 'prompts/get', { name: 'far_review', arguments: { note: 'two' } });
      input.end();
      expect(await ended).toBe(0);
      return { names: listed.map(({ name }: { name: string }) => name), made: made.result, read: read.result, other };
    };
    const recorded = await session('record', 'offers.ndjson');
    expect(JSON.stringify(recorded)).toContain('content of notes://one');
    const text = readFileSync(join(workspace.dir, 'offers.ndjson'), 'utf8').split('\n');
    workspace.write('offers.ndjson', text.filter((line) => !line.includes('"note":"two"')).join('\n'));
    configureServers(workspace, {});
    const replayed = await session('replay', 'offers.ndjson');
    expect(replayed.names).toEqual(['far_review']);
    expect([replayed.made.messages, replayed.read]).toEqual([recorded.made.messages, recorded.read]);
    expect(JSON.stringify(replayed.other.error)).toContain('not called with this input');
  });

  spec('UI-15 UI-16', 'are compared, and exported as shell lines and tests', async () => {
    const workspace = workspaceOf();
    const record = (file: string, ...texts: string[]) => {
      const head = '{"type":"recording","version":1}\n';
      const calls = texts.map((text, at) =>
        JSON.stringify({
          ...{ type: 'call', call: `c${at}`, parent: null, time: '', tool: 'hello', verdict: 'allow' },
          caller: { kind: 'person', door: 'cli' },
          input: { name: text.split(' ')[0] },
          result: { ok: true, content: [{ type: 'text', text }], meta: { durationMs: at } },
        }),
      );
      workspace.write(file, `${head}${calls.map((line) => `${line}\n`).join('')}`);
    };
    record('one.ndjson', 'Ada one', 'Eve same', 'Old gone');
    record('two.ndjson', 'Ada two', 'Eve same', 'New here');
    const compared = await run('diff', 'one.ndjson', 'two.ndjson');
    expect(compared.status).toBe(1);
    expect(compared.stdout).toContain('changed  hello {"name":"Ada"}\n');
    expect(compared.stdout).toMatch(/- Ada one\n.*\+ Ada two/);
    expect(compared.stdout).toContain('removed  hello {"name":"Old"}\n');
    expect(compared.stdout).toContain('added    hello {"name":"New"}\n');
    expect((await run('diff', 'one.ndjson', 'one.ndjson')).stdout).toBe('No differences.\n');
    expect(json(await run('diff', 'one.ndjson', 'two.ndjson', '--json'))).toMatchObject({ ok: true, same: false });
    const lines = await run('replay', '--export', 'line', 'two.ndjson');
    expect(lines.stdout.split('\n')[0]).toBe(`wield call hello --input '{"name":"Ada"}'`);
    expect((await run('replay', '--export', 'test', 'two.ndjson')).stdout).toContain("from 'wield/testing';");
    workspace.write('bad.ndjson', '{"type":"recording","version":1}\n{"type":"call"}\n');
    const bad = await run('diff', 'one.ndjson', 'bad.ndjson');
    expect([bad.status, bad.stderr]).toEqual([2, expect.stringContaining('bad.ndjson:2 is not a line of a recording')]);
    const missing = await run('replay', 'missing.ndjson');
    expect([missing.status, missing.stderr]).toEqual([8, expect.stringContaining('cannot read missing.ndjson')]);
  });
});
