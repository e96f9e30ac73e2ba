import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import type { Toolbox } from '../../../src/core/toolbox.js';
import { defineTool } from '../../../src/index.js';
import { wield } from '../../support/cli.js';
import { some } from '../../support/effort.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const CAT = '#!/bin/sh\n# @description Prints a file.\n# @param *file string File\nexec cat "$WIELD_PARAM_FILE"\n';

/** Creates a workspace whose tool `print` prints exactly these bytes. */
function createPrinter(bytes: Uint8Array, config = ''): { workspace: Workspace; file: string } {
  const workspace = createWorkspace();
  workspace.script('print', CAT);
  if (config !== '') workspace.config(config);
  return { workspace, file: workspace.write('payload', bytes) };
}

function textOfSize(size: number): Buffer {
  const lines: string[] = [];
  for (let length = 0, at = 0; length < size; at++) {
    const line = `line ${at} ${'x'.repeat(at % 97)} é€😀`;
    lines.push(line);
    length += Buffer.byteLength(line) + 1;
  }
  return Buffer.from(lines.join('\n'));
}

const FIXED = {
  'text of 12 kB': textOfSize(12_000),
  'text of 100 kB': textOfSize(100_000),
  'text of 5 MB': textOfSize(5_000_000),
  'one line of 200 kB of emoji': Buffer.from('😀'.repeat(50_000)),
  'JSON of 1 MB': Buffer.from(JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, email: `a${id}@b.c` })))),
  'binary of 60 kB': Buffer.from(Uint8Array.from({ length: 60_000 }, (_, at) => (at * 7) % 256)),
  'invalid UTF-8 of 50 kB': Buffer.concat([
    Buffer.from('text\n'.repeat(9000)),
    Buffer.from([0xff, 0xfe, 0xc3]),
    Buffer.from('more\n'.repeat(1000)),
  ]),
};

interface Page {
  readonly bytes: Buffer;
  readonly structured: { page?: number; pages?: number; next_offset?: number; offset: number; kind: string };
}

async function read(toolbox: Toolbox, input: object): Promise<Page> {
  const result = await toolbox.call('read_result', input);
  expect(result.error, JSON.stringify(input)).toBeUndefined();
  expect(result.meta.handle).toBeUndefined();
  const [part] = result.content;
  const bytes =
    part?.type === 'resource'
      ? Buffer.from(part.resource.blob!, 'base64')
      : Buffer.from(part?.type === 'text' ? part.text : '');
  return { bytes, structured: result.structured as unknown as Page['structured'] };
}

describe('recovery', () => {
  for (const [name, payload] of Object.entries(FIXED)) {
    const prove = name === 'text of 5 MB' ? spec.thorough : spec;
    prove('CTX-1 CTX-2 EXE-7', `${name} can be read byte for byte, by pages and by offset`, async () => {
      const { workspace, file } = createPrinter(payload);
      const toolbox = workspace.toolbox();
      const { ok, meta, structured } = await toolbox.call('print', { file });
      expect(ok).toBe(true);
      expect(structured).toBeUndefined();
      const handle = meta.handle!;
      expect(handle.size).toBe(payload.length);
      const first = await read(toolbox, { id: handle.id, page: 1 });
      const { pages = 0 } = first.structured;
      const isJson = handle.kind === 'json';
      const all: Buffer[] = isJson ? [] : [first.bytes];
      if (isJson) expect(first.bytes.toString()).toBe(handle.shape);
      for (let page = 2; page <= pages; page++) all.push((await read(toolbox, { id: handle.id, page })).bytes);
      expect(Buffer.concat(all).equals(payload)).toBe(true);
      if (handle.kind !== 'binary') {
        for (const bytes of all) expect(bytes.toString('utf8')).not.toContain('\ufffd');
      }
      const byOffset: Buffer[] = [];
      for (let offset: number | undefined = 0; offset !== undefined; ) {
        const part: Page = await read(toolbox, { id: handle.id, offset, limit: 7001 });
        byOffset.push(part.bytes);
        offset = part.structured.next_offset;
      }
      expect(Buffer.concat(byOffset).equals(payload)).toBe(true);
    });
  }

  spec('CTX-4 CTX-30', 'a binary result has no words, lines or JSON, and the hint says how to read it', async () => {
    const { workspace, file } = createPrinter(Buffer.from(Uint8Array.from({ length: 60_000 }, (_, at) => at % 251)));
    const toolbox = workspace.toolbox();
    const { id } = (await toolbox.call('print', { file })).meta.handle!;
    for (const input of [{ query: '$' }, { search: 'a' }, { lines: '1' }])
      expect((await toolbox.call('query_result', { id, ...input })).error).toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining('binary'),
        hint: expect.stringMatching(/^read it .*by page,? or by offset/),
      });
    expect((await toolbox.call('read_result', { id, page: 1 })).ok).toBe(true);
    await toolbox.call('context_pipe', { tool_name: 'print', tool_input: { file }, path: 'b' });
    const { error } = await toolbox.call('context_query', { path: 'b', expression: '$' });
    expect(error).toMatchObject({ message: 'b is binary, and not JSON', hint: 'read it with context_read' });
  });

  spec('CTX-2', 'reads lines by number, and splits no line that fits on a page', async () => {
    const payload = textOfSize(60_000);
    const { workspace, file } = createPrinter(payload);
    const toolbox = workspace.toolbox();
    const { id } = (await toolbox.call('print', { file })).meta.handle!;
    const lines = payload.toString().split('\n');
    const some = await read(toolbox, { id, lines: '10-12' });
    expect(some.bytes.toString()).toBe(`${lines.slice(9, 12).join('\n')}\n`);
    expect((await read(toolbox, { id, lines: `${lines.length}` })).bytes.toString()).toBe(lines.at(-1));
    // More lines than fit on a page end at a whole line, with the next position.
    const many = await read(toolbox, { id, lines: `1-${lines.length}` });
    expect(payload.subarray(0, many.structured.next_offset).equals(many.bytes)).toBe(true);
    expect(many.bytes.at(-1)).toBe(0x0a);
    const page = await read(toolbox, { id, page: 1 });
    expect(page.bytes.at(-1)).toBe(0x0a);
    // An offset inside a character starts with that character.
    const euro = payload.indexOf('€');
    const inside = await read(toolbox, { id, offset: euro + 1, limit: 1 });
    expect(inside.bytes.toString()).toBe('€');
  });

  spec('CTX-2', 'reports unknown ids, positions out of range and conflicting parameters', async () => {
    const { workspace, file } = createPrinter(textOfSize(30_000));
    const toolbox = workspace.toolbox();
    const { id } = (await toolbox.call('print', { file })).meta.handle!;
    const error = async (input: object) => (await toolbox.call('read_result', input)).error;
    expect(await error({ id: 'r_AAAAAAAAAAAAAAAAAAAAAA' })).toMatchObject({ code: 'not_found' });
    expect(await error({ id: '../../../etc/passwd' })).toMatchObject({ code: 'not_found' });
    expect(await error({ id, page: 99 })).toMatchObject({
      code: 'invalid_input',
      message: 'there is no page 99; the last is 4',
      hint: 'give a page from 1 to 4',
    });
    expect(await error({ id, page: 0 })).toMatchObject({ code: 'invalid_input' });
    expect(await error({ id, lines: '99999' })).toMatchObject({ code: 'invalid_input' });
    expect(await error({ id, lines: '9-2' })).toMatchObject({ hint: 'give them as 2-9' });
    expect(await error({ id, offset: 10_000_000 })).toMatchObject({ code: 'invalid_input' });
    expect(await error({ id, page: 1, lines: '2' })).toMatchObject({ code: 'invalid_input' });
  });
});

// Never completely in memory; `npm run soak` uses a gigabyte.
const LARGE = Number(process.env.WIELD_RESULT_BYTES ?? 48 * 1024 * 1024);

spec.thorough(
  'CTX-1 RUN-12',
  'stores a large result while it streams, byte for byte, in bounded memory',
  async () => {
    const workspace = createWorkspace();
    workspace.config(`[limits]\noutput = ${LARGE + 1}\n[results]\ntotal = "4G"\n`);
    const lines = Math.floor(LARGE / 16);
    workspace.script('many', `#!/bin/sh\n# @description Many.\nseq -f "%015.0f" 1 ${lines}\n`);
    const toolbox = workspace.toolbox();
    const before = process.memoryUsage.rss();
    const { meta, error } = await toolbox.call('many', {});
    expect(error).toBeUndefined();
    expect(meta.handle).toMatchObject({ size: lines * 16, kind: 'text' });
    expect(meta.truncated).toBeUndefined();
    expect(process.memoryUsage.rss() - before).toBeLessThan(200 * 1024 * 1024);
    const { id } = meta.handle!;
    for (const line of [1, 2, Math.floor(lines / 2), lines - 1, lines]) {
      const expected = `${String(line).padStart(15, '0')}\n`;
      expect((await read(toolbox, { id, offset: (line - 1) * 16, limit: 16 })).bytes.toString()).toBe(expected);
      expect((await read(toolbox, { id, lines: `${line}` })).bytes.toString()).toBe(expected);
    }
    const { pages = 0 } = (await read(toolbox, { id, page: 1 })).structured;
    const last = await read(toolbox, { id, page: pages });
    expect(last.bytes.toString().endsWith(`${String(lines).padStart(15, '0')}\n`)).toBe(true);
  },
  300_000,
);

describe('results over the limit', () => {
  spec('CTX-1 RUN-12', 'are stored from one character over the limit', async () => {
    const { workspace } = createPrinter(Buffer.from(''));
    const toolbox = workspace.toolbox();
    const fits = await toolbox.call('print', { file: workspace.write('fits', 'é'.repeat(10_000)) });
    expect(fits.meta.handle).toBeUndefined();
    expect(textOf(fits)).toHaveLength(10_000);
    const over = await toolbox.call('print', { file: workspace.write('over', 'é'.repeat(10_001)) });
    expect(over.meta.handle).toMatchObject({ size: 20_002, kind: 'text' });
    expect(textOf(over)).toContain(`read_result {"id":"${over.meta.handle!.id}"`);
    expect(textOf(over).length).toBeLessThan(2000);
  });

  spec('CTX-1', 'use the limit of the user, which a project can only lower', async () => {
    const { workspace, file } = createPrinter(textOfSize(30_000), '[results]\ninline = 40000\n');
    expect((await workspace.toolbox().call('print', { file })).meta.handle).toBeUndefined();
    workspace.write('.agents/config.toml', '[results]\ninline = 100\n');
    expect((await workspace.toolbox().call('print', { file })).meta.handle).toBeDefined();
    workspace.write('.agents/config.toml', '[results]\ninline = 1000000\n');
    workspace.config('[results]\ninline = 100\n');
    expect((await workspace.toolbox().call('print', { file })).meta.handle).toBeDefined();
  });

  spec('CTX-1', 'include the text or JSON of functions', async () => {
    const rows = Array.from({ length: 3000 }, (_, id) => ({ id }));
    const toolbox = createWorkspace().toolbox({
      tools: [
        defineTool({
          name: 'rows',
          description: 'Rows',
          inputSchema: { type: 'object' },
          execute: () => rows,
        }),
        defineTool({
          name: 'whole',
          description: 'Counts rows',
          inputSchema: { type: 'object' },
          execute: async (_input, context) => {
            const { structured, meta } = await context.toolbox.call('rows', {});
            return { rows: (structured as unknown[]).length, handle: meta.handle === undefined };
          },
        }),
      ],
    });
    const result = await toolbox.call('rows', {});
    expect(result.meta.handle).toMatchObject({ kind: 'json', shape: '[{ id }] × 3000' });
    expect(result.structured).toBeUndefined();
    // A nested call returns the complete result.
    expect((await toolbox.call('whole', {})).structured).toEqual({ rows: 3000, handle: true });
    expect((await toolbox.call('rows', {}, { full: true })).structured).toEqual(rows);
  });

  spec('CTX-2', 'return the error and the start of the output inline if the call failed', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'fail',
      '#!/bin/sh\n# @description Fails loudly.\necho "why it failed" >&2\nseq 1 20000\nexit 3\n',
    );
    const toolbox = workspace.toolbox();
    const result = await toolbox.call('fail', {});
    expect(result.error).toMatchObject({ code: 'tool_failed' });
    expect(textOf(result)).toContain('why it failed');
    expect(textOf(result)).toContain('\n1\n2\n3\n');
    expect(textOf(result).length).toBeLessThan(10_000);
    const { id } = result.meta.handle!;
    expect((await read(toolbox, { id, lines: '20000' })).bytes.toString()).toBe('20000\n');
  });

  spec('EXE-4 CTX-1', 'are stored up to the output limit and marked as truncated', async () => {
    const workspace = createWorkspace();
    workspace.config('[limits]\noutput = "200K"\n');
    workspace.script('flood', '#!/bin/sh\n# @description Floods.\nexec yes\n');
    const result = await workspace.toolbox().call('flood', {});
    expect(result).toMatchObject({
      ok: true,
      meta: { truncated: true, truncation: { keptBytes: 204_800 }, handle: { size: 204_800 } },
    });
    expect(textOf(result)).toContain('[truncated: only the first 200 KiB were kept, the limit]');
  });

  spec('CTX-1', 'include long stderr', async () => {
    const workspace = createWorkspace();
    workspace.script(
      'both',
      '#!/bin/sh\n# @description Says much.\nseq 1 20000\nseq 1 20000 | sed "s/^/warning /" >&2\n',
    );
    const toolbox = workspace.toolbox();
    const result = await toolbox.call('both', {});
    const aside = /in all, stored as (r_\S+)\)/.exec(textOf(result))![1]!;
    expect((await read(toolbox, { id: aside, lines: '20000' })).bytes.toString()).toBe('warning 20000\n');
  });

  spec('TOOL-22 CTX-1', 'keep validated structured output', async () => {
    const numbers = Array.from({ length: 30_000 }, (_, at) => at);
    const define = (name: string, type: string) =>
      defineTool({
        name,
        description: 'Counts',
        inputSchema: { type: 'object' },
        outputSchema: { type: 'array', items: { type } },
        execute: () => numbers,
      });
    const toolbox = createWorkspace().toolbox({
      tools: [define('right', 'integer'), define('wrong', 'string')],
    });
    const right = await toolbox.call('right', {});
    expect(right.structured).toEqual(numbers);
    expect(right.meta.handle).toMatchObject({ kind: 'json', shape: '[number] × 30000' });
    expect((await toolbox.call('wrong', {})).error).toMatchObject({ code: 'invalid_output' });
  });
});

describe('the command line', () => {
  spec(
    'RUN-12 CLI-8',
    '--json returns the handle, --full the complete result, and without either the output is streamed',
    async () => {
      const payload = textOfSize(50_000);
      const { workspace } = createPrinter(payload);
      const args = ['call', 'print', '--file', 'payload'];
      const brief = JSON.parse((await wield(workspace, [...args, '--json'])).stdout);
      expect(brief.meta.handle).toMatchObject({ size: payload.length, kind: 'text' });
      const full = JSON.parse((await wield(workspace, [...args, '--json', '--full'])).stdout);
      expect(full.content[0].text).toBe(payload.toString());
      expect(full.meta.handle).toBeUndefined();
      expect((await wield(workspace, args)).stdout).toBe(payload.toString());
      // A later command in the same workdir can read it; in another workdir it is unknown.
      const more = await wield(workspace, ['call', 'read_result', '--id', brief.meta.handle.id, '--lines', '2-3']);
      expect(more.stdout).toBe(`${payload.toString().split('\n').slice(1, 3).join('\n')}\n`);
      mkdirSync(join(workspace.dir, 'other'));
      const elsewhere = await wield(workspace, [
        '--cwd',
        join(workspace.dir, 'other'),
        'call',
        'read_result',
        '--id',
        brief.meta.handle.id,
      ]);
      expect(elsewhere.status).toBe(3);
    },
  );
});

describe('expiry', () => {
  const resultsOf = (workspace: Workspace): string => {
    const projects = join(workspace.env.WIELD_HOME!, 'projects');
    return join(projects, readdirSync(projects)[0]!, 'results');
  };

  spec('CTX-3', 'stores private files that expire by age and total size, least recently read first', async () => {
    const { workspace, file } = createPrinter(textOfSize(30_000), '[results]\nkeep = "1h"\ntotal = "100K"\n');
    const toolbox = workspace.toolbox();
    const call = async () => (await toolbox.call('print', { file })).meta.handle!.id;
    const ids = [await call(), await call(), await call()];
    const directory = resultsOf(workspace);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    expect(statSync(join(directory, ids[0]!)).mode & 0o777).toBe(0o600);
    const age = (id: string, minutes: number): void => {
      const time = Date.now() / 1000 - minutes * 60;
      for (const name of [id, `${id}.json`]) utimesSync(join(directory, name), time, time);
    };
    age(ids[0]!, 120);
    age(ids[1]!, 30);
    age(ids[2]!, 20);
    ids.push(await call());
    const known = async () =>
      Promise.all(ids.map(async (id) => (await toolbox.call('read_result', { id, page: 1 })).ok));
    // The first has expired; the others fit into the total.
    expect(await known()).toEqual([false, true, true, true]);
    age(ids[1]!, 30);
    age(ids[2]!, 20);
    ids.push(await call());
    // Over the total: the least recently read one is removed.
    expect(await known()).toEqual([false, false, true, true, true]);
    // Results read just now are kept even over the total.
    ids.push(await call(), await call());
    expect((await known()).slice(2)).toEqual([true, true, true, true, true]);
  });

  spec('CTX-3', 'an expired result cannot be read, and is removed; a read renews one that is not', async () => {
    const { workspace, file } = createPrinter(textOfSize(30_000), '[results]\nkeep = "1h"\n');
    const toolbox = workspace.toolbox();
    const { id } = (await toolbox.call('print', { file })).meta.handle!;
    const directory = resultsOf(workspace);
    const age = (minutes: number): void => {
      const time = Date.now() / 1000 - minutes * 60;
      utimesSync(join(directory, `${id}.json`), time, time);
    };
    const read = async () => (await toolbox.call('read_result', { id, page: 1 })).error?.code ?? 'ok';
    age(50);
    expect(await read()).toBe('ok');
    expect(Date.now() - statSync(join(directory, `${id}.json`)).mtimeMs).toBeLessThan(600_000);
    age(61);
    expect([await read(), (await toolbox.call('query_result', { id, lines: '1' })).error?.code]).toEqual([
      'not_found',
      'not_found',
    ]);
    expect(readdirSync(directory)).toEqual([]);
  });

  spec.thorough('CTX-3', 'A58 a flood of results cannot fill the disk, whatever their size', async () => {
    for (const size of some([60_000, 18_000], 1)) {
      const settings = '[results]\ninline = 10000\ntotal = "1M"\n';
      const { workspace, file } = createPrinter(textOfSize(size), settings);
      const toolbox = workspace.toolbox();
      let last = '';
      for (let count = 0; count < 3_600_000 / size; count++)
        last = (await toolbox.call('print', { file })).meta.handle!.id;
      const directory = resultsOf(workspace);
      const used = readdirSync(directory).reduce((sum, name) => sum + statSync(join(directory, name)).size, 0);
      // Twice the limit, one result, and their metadata.
      expect(used).toBeLessThan(2 * 1_048_576 + size + 300_000);
      expect((await toolbox.call('read_result', { id: last, page: 1 })).ok).toBe(true);
    }
  });

  spec('CTX-3 CLI-16', 'wield clean removes expired results and those of killed calls', async () => {
    const { workspace, file } = createPrinter(textOfSize(30_000), '[results]\nkeep = "1h"\n');
    const { id } = (await workspace.toolbox().call('print', { file })).meta.handle!;
    const directory = resultsOf(workspace);
    const old = Date.now() / 1000 - 48 * 3600;
    writeFileSync(join(directory, 'r_AAAAAAAAAAAAAAAAAAAAAA'), 'half');
    for (const name of ['r_AAAAAAAAAAAAAAAAAAAAAA', id, `${id}.json`]) {
      utimesSync(join(directory, name), old, old);
    }
    expect((await wield(workspace, ['clean', '--dry-run'])).stdout).toContain('2 results');
    expect(readdirSync(directory)).toHaveLength(3);
    expect((await wield(workspace, ['clean'])).stdout).toContain('2 results');
    expect(readdirSync(directory)).toEqual([]);
  });
});
