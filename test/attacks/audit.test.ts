// A60: forged lines in the audit log, and secrets in it.

import fc from 'fast-check';
import { describe, expect } from 'vitest';
import { defineTool, ToolError } from '../../src/index.js';
import { logRecords, logText } from '../support/audit.js';
import { json, wield } from '../support/cli.js';
import { ALL_TESTS, rounds } from '../support/effort.js';
import { patience } from '../support/patience.js';
import { serveHere } from '../support/serve.js';
import { shellScript } from '../support/shell-script.js';
import { spec } from '../support/spec.js';
import { createWorkspace } from '../support/workspace.js';

const FORGED = '{"time":"2026-01-01T00:00:00.000Z","tool":"forged","caller":"cli","verdict":"allow","code":null}';
const SEPARATORS = ['\n', '\r\n', '\r', '\u2028', '\u2029', '\u0085', '\v', '\f', '\u001e', '"}\n', '\\n'];

describe('lines', () => {
  spec('OBS-1 OBS-2', 'A60 no name, reference or client can forge a line', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\ncontents = true\n');
    const echo = defineTool({
      name: 'echo',
      description: 'x',
      inputSchema: { type: 'object', additionalProperties: true },
      execute: (input) => JSON.stringify(input),
    });
    const toolbox = workspace.toolbox({ tools: [echo] });
    let calls = 0;
    for (const separator of SEPARATORS) {
      const evil = `x${separator}${FORGED}${separator}\u001b[2K\u001b[1A`;
      const caller = { kind: 'model', door: 'mcp', name: evil } as const;
      await toolbox.call(evil, {}, { caller });
      await toolbox.call('echo', { [evil]: evil }, { caller });
      await toolbox.call('echo', { [evil]: evil }, { caller: { kind: 'code', door: evil } });
      calls += 3;
    }
    const text = logText(workspace);
    expect(text.split('\n')).toHaveLength(calls + 1);
    // Only printable characters and the newlines at the ends.
    expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\ufeff]/);
    const records = logRecords(workspace);
    expect(records).toHaveLength(calls);
    expect(records.filter(({ tool }) => tool === 'forged')).toEqual([]);
    expect(json(await wield(workspace, ['audit', '--json', '--tool', 'forged'])).records).toEqual([]);
    const { stdout } = await wield(workspace, ['audit']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(calls + 1);
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
  });

  spec('OBS-1', 'A60 over the protocol, from a client with a name of its choice', async () => {
    const workspace = createWorkspace();
    const server = serveHere(workspace);
    await server.request('hello', 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: `cli\n${FORGED}\n\u001b[31m\u202e`, version: '1' },
    });
    server.send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    await server.request(1, 'tools/call', { name: `a\n${FORGED}`, arguments: {} });
    const records = logRecords(workspace);
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ door: 'mcp', kind: 'model', format: null });
    // The door comes first, so that no name can look like another door.
    expect(records[0].caller).toMatch(/^mcp:cli \{/);
  });

  spec.thorough('OBS-1 OBS-2', 'A60 a record with any text is one line that parses', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\nrotate = "1G"\n');
    const toolbox = workspace.toolbox();
    let calls = 0;
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 400 }), async (ref) => {
        await toolbox.call(ref, {}, { caller: { kind: 'model', door: 'mcp', name: ref } });
        calls++;
      }),
      { numRuns: rounds(ALL_TESTS ? 100 : 30, 300) },
    );
    expect(logRecords(workspace)).toHaveLength(calls);
    expect(json(await wield(workspace, ['audit', '--json']))).toMatchObject({ skipped: 0 });
  });
});

describe('secrets', () => {
  const SECRET = 'hunter2-S3"cr3t/va\\lue +=';

  spec('OBS-1', 'A60 a known secret is in no record, with or without contents', async () => {
    for (const contents of [false, true]) {
      const workspace = createWorkspace();
      workspace.env.DEPLOY_TOKEN = SECRET;
      workspace.env.WIELD_TOKEN = `${SECRET}-of-the-server`;
      workspace.config(`[audit]\ncontents = ${contents}\n[env]\npass = ["DEPLOY_TOKEN"]\n`);
      workspace.script(
        'prints',
        shellScript('printf "it is %s\\n" "$DEPLOY_TOKEN"; printf %s "$DEPLOY_TOKEN" >&2; exit 1'),
      );
      workspace.script(
        'takes',
        shellScript('cat; exit 0', '@param password string', '@param apiKey string', '@param text string'),
      );
      const throws = defineTool({
        name: 'throws',
        description: 'x',
        execute: () => {
          throw new ToolError('io', `no entry with ${SECRET}`, { hint: SECRET });
        },
      });
      const gives = defineTool({
        name: 'gives',
        description: 'x',
        execute: () => ({
          content: [
            {
              type: 'text',
              text: `again: ${SECRET} ${JSON.stringify({ a: SECRET })} ?q=${encodeURIComponent(SECRET)}`,
            },
          ],
        }),
      });
      const toolbox = workspace.toolbox({ tools: [throws, gives] });
      await toolbox.call('prints', {});
      await toolbox.call('throws', {});
      await toolbox.call('gives', {});
      await toolbox.call('takes', { text: `in the middle ${SECRET} of text` });
      await toolbox.call(SECRET, {}, { caller: { kind: 'model', door: 'mcp', name: SECRET } });
      await toolbox.call('takes', { [SECRET]: 1 });
      await toolbox.call('gives', {}, { caller: { kind: 'code', door: `${SECRET}-of-the-server` } });
      // Not a known secret: only the name of the parameter is sensitive.
      const other = 'correct horse battery staple';
      await toolbox.call('takes', { password: other });
      await toolbox.call('takes', { apiKey: other, text: `once more ${other}` });
      await toolbox.call('takes', { password: other, wrong: other });
      expect(logRecords(workspace)).toHaveLength(10);
      const text = logText(workspace);
      expect(text).not.toContain('hunter2');
      expect(text).not.toContain('horse');
      if (contents) expect(text).toContain('[redacted]');
      expect((await wield(workspace, ['audit', '--json'])).stdout).not.toMatch(/hunter2|horse/);
    }
  });

  spec('OBS-1', 'A60 values after sensitive names in text are redacted, and nothing else', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\ncontents = true\n');
    const say = defineTool({
      name: 'say',
      description: 'x',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, additionalProperties: true },
      execute: ({ text }: { text: string }) => ({ content: [{ type: 'text', text }] }),
    });
    const toolbox = workspace.toolbox({ tools: [say] });
    for (const text of [
      'AWS_SECRET_ACCESS_KEY=abcdefgh',
      'Authorization: Bearer abcdefgh',
      '{"db_password": "abcdefgh"}',
      'api-key: abcdefgh',
      'Cookie: session=abcdefgh',
      'curl -H "X-Auth-Token:abcdefgh"',
    ]) {
      await toolbox.call('say', { text });
      await toolbox.call('say', {
        text: 'x',
        nested: { list: [{ clientSecret: 'abcdefgh', pin: 12345678 }] },
      });
      // Too short to be recognised where it is repeated.
      await toolbox.call('say', { text: 'x', password: 'q#z' });
    }
    await toolbox.call('say', { text: 'the author keeps monkeys', keyboard: 'qwertz' });
    const log = logText(workspace);
    expect(log).not.toMatch(/abcdefgh|12345678|q#z/);
    expect(log).toContain('the author keeps monkeys');
    expect(log).toContain('qwertz');
  });

  spec('OBS-1', 'A60 a secret at the cut of a long text is redacted', async () => {
    const workspace = createWorkspace();
    const long = `long${'-'.repeat(2000)}`;
    Object.assign(workspace.env, { DEPLOY_TOKEN: SECRET, LONG_TOKEN: long });
    workspace.config(
      '[audit]\ncontents = true\n[env]\npass = ["DEPLOY_TOKEN", "LONG_TOKEN"]\n[results]\ninline = 200000\n',
    );
    const say = defineTool({
      name: 'say',
      description: 'x',
      inputSchema: {
        type: 'object',
        properties: { length: { type: 'integer' }, before: { type: 'integer', default: 0 } },
      },
      execute: ({ length, before }: { length: number; before: number }) =>
        `${long.repeat(before).padEnd(length, '.')}${SECRET}${'.'.repeat(50_000)}`,
    });
    const toolbox = workspace.toolbox({ tools: [say] });
    const edges = [16 * 1024, 20 * 1024].flatMap((edge) => [-22, -12, -9, -6, -3, -1, 0].map((by) => edge + by));
    for (const length of edges) await toolbox.call('say', { length });
    // Long secrets before it move the place where the text is read up to in front of the cut.
    for (const length of edges) await toolbox.call('say', { length, before: 4 });
    const records = logRecords(workspace);
    expect(records).toHaveLength(2 * edges.length);
    for (const { output } of records) expect(output).toMatch(/^.{8000,16383}…$/);
    expect(logText(workspace)).not.toContain('hunt');
  });

  spec('OBS-1', 'A60 hostile text is redacted quickly', async () => {
    const workspace = createWorkspace();
    workspace.config('[audit]\ncontents = true\n');
    const say = defineTool({
      name: 'say',
      description: 'x',
      inputSchema: { type: 'object', properties: { unit: { type: 'string' } } },
      execute: ({ unit }: { unit: string }) => ({
        content: [{ type: 'text', text: unit.repeat(4_000_000 / unit.length) }],
      }),
    });
    const toolbox = workspace.toolbox({ tools: [say] });
    const began = performance.now();
    for (const unit of ['x', 'token', 'token=', 'token="', 'token ', 'password-_', '"', 'Bearer ', 'secret \n'])
      await toolbox.call('say', { unit });
    expect(performance.now() - began).toBeLessThan(patience(90_000));
    expect(logRecords(workspace)).toHaveLength(9);
  });
});
