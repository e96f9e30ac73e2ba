// query_result: a model gets what it needs of a large result without reading all of it.

import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import { defineTool } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { connectStdio } from '../../support/clients.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const MODEL = { caller: { kind: 'model', door: 'test' } } as const;
const ORDERS = Array.from({ length: 2000 }, (_, id) => ({ id, country: id % 2 ? 'DE' : 'FR', amount: id % 500 }));
const LINES = Array.from({ length: 5000 }, (_, at) =>
  at === 1233 ? 'the Quick brown fox\n' : at === 4000 ? 'a quick dog\n' : `line ${at + 1} é\n`,
).join('');
const OUTPUTS: Readonly<Record<string, string>> = {
  json: JSON.stringify(ORDERS),
  text: LINES,
  // One line, as most programs print JSON.
  flat: `[${'{"name":"hay"},'.repeat(200_000)}{"name":"needle"}]`,
};

interface Opened {
  readonly toolbox: NodeToolbox;
  readonly id: string;
  ask(input: object): Promise<{ text: string; structured: Record<string, unknown> }>;
  fault(input: object): Promise<{ code: string; message: string; hint?: string } | undefined>;
}

async function open(kind: string): Promise<Opened> {
  const toolbox = createWorkspace().toolbox({
    tools: [defineTool({ name: 'print', description: 'Prints.', execute: () => OUTPUTS[kind]! })],
  });
  const { handle } = (await toolbox.call('print', {}, MODEL)).meta;
  const call = (input: object) => toolbox.call('query_result', { id: handle!.id, ...input }, MODEL);
  return {
    toolbox,
    id: handle!.id,
    async ask(input) {
      const result = await call(input);
      expect(result.error).toBeUndefined();
      return { text: textOf(result), structured: result.structured as Record<string, unknown> };
    },
    fault: async (input) => (await call(input)).error,
  };
}

describe('query_result', () => {
  spec('CTX-4', 'evaluates JSONata, and a large answer becomes a result to query again', async () => {
    const { toolbox, ask } = await open('json');
    expect(await ask({ query: '$sum(amount)' })).toMatchObject({ text: '499000', structured: { result: 499_000 } });
    expect((await ask({ query: '?' })).text).toContain('JSONata in short');
    const large = await ask({ query: '$[country = "DE"]' });
    const next = /r_[\w-]+/.exec(large.text)![0];
    const again = await toolbox.call('query_result', { id: next, query: '$count($)' }, MODEL);
    expect(textOf(again)).toBe('1000');
  });

  spec('CTX-4', 'searches words, best lines first, with their places', async () => {
    const { toolbox, id, ask } = await open('text');
    const { text, structured } = await ask({ search: 'QUICK fox' });
    const offset = Buffer.byteLength(LINES.slice(0, LINES.indexOf('the Quick')));
    expect(text.split('\n')[0]).toBe(`1234: the Quick brown fox  (offset ${offset})`);
    expect(structured).toMatchObject({ matches: 2, passages: [{ line: 1234, offset }, { line: 4001 }] });
    const read = await toolbox.call('read_result', { id, offset, limit: 9 }, MODEL);
    expect(textOf(read)).toBe('the Quick');
    const many = await ask({ search: 'line' });
    expect(many.text).toMatch(/^20 of 4998 matching passages:\n1: line 1 é/);
    expect(await ask({ search: 'absent words' })).toMatchObject({ text: 'no line contains absent or words' });
  });

  spec.thorough('CTX-4', 'finds words in a line of megabytes, and serves other calls meanwhile', async () => {
    const { toolbox, id, ask } = await open('flat');
    const { text, structured } = await ask({ search: 'needle' });
    expect(text.length).toBeLessThan(500);
    const [{ offset }] = structured.passages as [{ offset: number }];
    expect(Math.abs(offset - OUTPUTS.flat!.indexOf('needle'))).toBeLessThan(3000);
    const read = textOf(await toolbox.call('read_result', { id, offset, limit: 3000 }, MODEL));
    expect(read).toContain('needle');
  });

  spec('CTX-4', 'reads lines', async () => {
    const { ask } = await open('text');
    expect((await ask({ lines: '1234' })).text).toBe('the Quick brown fox\n');
    expect((await ask({ lines: '2-3' })).text).toBe('line 2 é\nline 3 é\n');
  });

  spec('CTX-4 CTX-3', 'explains what is wrong', async () => {
    const { toolbox, id, fault } = await open('text');
    expect(await fault({})).toMatchObject({ code: 'invalid_input', message: 'query, search or lines is missing' });
    expect(await fault({ query: '1', lines: '1' })).toMatchObject({ message: 'query and lines cannot be combined' });
    expect(await fault({ lines: '0-3' })).toMatchObject({ hint: 'for example "10" or "10-20", from 1' });
    expect(await fault({ lines: '9999' })).toMatchObject({ message: 'there is no line 9999; the last is 5000' });
    expect(await fault({ search: ' — ' })).toMatchObject({ message: 'search has no words' });
    expect(await fault({ query: '$' })).toMatchObject({
      code: 'invalid_input',
      hint: 'search it for words, or read its lines, instead',
    });
    const other = await toolbox.call(
      'query_result',
      { id, lines: '1' },
      { caller: { ...MODEL.caller, session: 'other' } },
    );
    expect(other.error).toMatchObject({ code: 'not_found' });
    const missing = await toolbox.call('query_result', { id: 'notes.md', query: '$' }, MODEL);
    expect(missing.error).toMatchObject({ code: 'not_found', message: expect.stringContaining('result not found') });
  });

  spec('CTX-4 SRV-14 POL-12', 'is offered over MCP without asking for it, whatever allowed-tools selects', async () => {
    const workspace = createWorkspace();
    workspace.config('allowed-tools = "orders"\n');
    workspace.script('orders', `#!/bin/sh\n# @description Orders.\ncat <<'E'\n${OUTPUTS.json}\nE\n`);
    for (const protocol of ['older', 'newer'] as const) {
      const client = await connectStdio(workspace, protocol);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(['orders', 'query_result', 'read_result']);
      const stored = await client.callTool({ name: 'orders', arguments: {} });
      const shown = (stored.content as { text: string }[])[0]!.text;
      const next = /query_result (\{.*\})/.exec(shown)![1]!;
      const counted = await client.callTool({ name: 'query_result', arguments: JSON.parse(next) });
      expect((counted.content as { text: string }[])[0]!.text).toBe('2000');
    }
  });
});
