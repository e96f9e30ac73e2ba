import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import type { Toolbox } from '../../../src/core/toolbox.js';
import { wield } from '../../support/cli.js';
import { connectStdio } from '../../support/clients.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read results of any shape
type Loose = any;

async function call(toolbox: Toolbox, name: string, input: object): Promise<Loose> {
  const result = await toolbox.call(name, input);
  expect(result.error, `${name} ${JSON.stringify(input)}`).toBeUndefined();
  return { ...(result.structured as object), text: textOf(result) };
}

async function fail(toolbox: Toolbox, name: string, input: object): Promise<Loose> {
  const result = await toolbox.call(name, input);
  expect(result.ok).toBe(false);
  expect(result.error?.hint, name).toBeTruthy();
  return result.error;
}

describe('documents', () => {
  spec('CTX-10', 'are written, read, listed, copied and deleted', async () => {
    const toolbox = createWorkspace().toolbox();
    const written = await call(toolbox, 'context_write', {
      path: 'notes/a.md',
      content: 'one\ntwo\nthree\n',
    });
    expect(written).toMatchObject({ path: 'notes/a.md', version: 1, bytes_written: 14, kind: 'text' });
    expect(await call(toolbox, 'context_read', { path: 'notes/a.md' })).toMatchObject({
      text: 'one\ntwo\nthree\n',
      content: 'one\ntwo\nthree\n',
      version: 1,
      start_line: 1,
      end_line: 3,
    });
    await call(toolbox, 'context_copy', { from: 'notes/a.md', to: 'notes/b.md' });
    await call(toolbox, 'context_write', { path: 'x.json', content: '{"a":1}' });
    const { documents, text } = await call(toolbox, 'context_list', {});
    expect(documents.map((one: Loose) => [one.path, one.size, one.kind, one.version])).toEqual([
      ['notes/a.md', 14, 'text', 1],
      ['notes/b.md', 14, 'text', 1],
      ['x.json', 7, 'json', 1],
    ]);
    expect(text).toMatch(/^PATH +SIZE +KIND +VERSION +CHANGED\nnotes\/a\.md +14 B +text +1 +\d{4}-/);
    expect((await call(toolbox, 'context_list', { path: 'notes' })).documents).toHaveLength(2);
    expect(await call(toolbox, 'context_exists', { path: 'notes/b.md' })).toMatchObject({
      exists: true,
      size: 14,
      text: 'yes',
    });
    await call(toolbox, 'context_delete', { path: 'notes/b.md' });
    expect(await call(toolbox, 'context_exists', { path: 'notes/b.md' })).toMatchObject({ exists: false });
    expect(await call(toolbox, 'context_exists', { path: 'never' })).toMatchObject({ exists: false });
  });

  spec('CTX-10', 'report path_conflict with a hint for an existing path', async () => {
    const toolbox = createWorkspace().toolbox();
    await call(toolbox, 'context_write', { path: 'x', content: 'old' });
    await call(toolbox, 'context_write', { path: 'y', content: 'y' });
    for (const [name, input] of [
      ['context_write', { path: 'x', content: 'new' }],
      ['context_copy', { from: 'y', to: 'x' }],
    ] as const) {
      expect(await fail(toolbox, name, input)).toMatchObject({
        code: 'path_conflict',
        hint: expect.stringMatching(/context_read.*on_conflict: "overwrite"/),
      });
    }
    expect((await call(toolbox, 'context_read', { path: 'x' })).text).toBe('old');
    await call(toolbox, 'context_write', { path: 'x', content: 'new', on_conflict: 'overwrite' });
    expect((await call(toolbox, 'context_read', { path: 'x' })).text).toBe('new');
    await call(toolbox, 'context_copy', { from: 'y', to: 'x', on_conflict: 'overwrite' });
    expect((await call(toolbox, 'context_read', { path: 'x' })).text).toBe('y');
  });

  spec('CTX-10', 'report not_found for a missing path in every tool', async () => {
    const toolbox = createWorkspace().toolbox();
    await call(toolbox, 'context_write', { path: 'notes/today.md', content: 'x' });
    for (const [name, input] of [
      ['context_read', {}],
      ['context_delete', {}],
      ['context_restore', {}],
      ['context_versions', {}],
      ['context_query', { expression: '$' }],
      ['context_edit', { patches: [{ start_line: 1, end_line: 1, content: '' }] }],
    ] as const) {
      const error = await fail(toolbox, name, { path: 'notes/todya.md', ...input });
      expect(error).toMatchObject({ code: 'not_found', hint: expect.stringContaining('notes/today.md') });
    }
    expect(await fail(toolbox, 'context_copy', { from: 'no', to: 'x' })).toMatchObject({ code: 'not_found' });
    expect(await fail(toolbox, 'context_tree', { path: 'no' })).toMatchObject({ code: 'not_found' });
  });

  spec('CTX-10', 'are read by lines, counted from 1', async () => {
    const toolbox = createWorkspace().toolbox();
    const lines = Array.from({ length: 500 }, (_, at) => `line ${at + 1} é€😀`);
    await call(toolbox, 'context_write', { path: 'long.md', content: lines.join('\n') });
    const some = await call(toolbox, 'context_read', { path: 'long.md', offset: 10, limit: 20 });
    expect(some).toMatchObject({ start_line: 10, end_line: 29, next_offset: 30 });
    expect(some.text).toBe(`${lines.slice(9, 29).join('\n')}\n`);
    let all = '';
    for (let offset: number | undefined = 1; offset !== undefined; ) {
      const part: Loose = await call(toolbox, 'context_read', { path: 'long.md', offset, limit: 77 });
      all += part.content;
      offset = part.next_offset;
    }
    expect(all).toBe(lines.join('\n'));
    expect((await call(toolbox, 'context_read', { path: 'long.md', offset: 500 })).text).toBe(lines[499]);
    expect(await fail(toolbox, 'context_read', { path: 'long.md', offset: 501 })).toMatchObject({
      code: 'invalid_input',
      hint: expect.stringContaining('1 to 500'),
    });
    // A large document becomes a handle, like any result.
    await call(toolbox, 'context_write', { path: 'large.md', content: 'x'.repeat(20_000) });
    expect((await toolbox.call('context_read', { path: 'large.md' })).meta.handle).toMatchObject({
      size: 20_000,
    });
    await call(toolbox, 'context_write', { path: 'empty', content: '' });
    expect((await call(toolbox, 'context_read', { path: 'empty' })).text).toBe('');
  });

  spec('CTX-10', 'are shown as a tree, collapsed below max_depth', async () => {
    const toolbox = createWorkspace().toolbox();
    for (const path of ['a.md', 'notes/x.md', 'notes/deep/y.md', 'notes/deep/er/z.md', 'zoo'])
      await call(toolbox, 'context_write', { path, content: 'text' });
    expect((await call(toolbox, 'context_tree', {})).text).toBe(
      [
        '├── a.md  4 B',
        '├── notes/',
        '│   ├── deep/',
        '│   │   ├── er/',
        '│   │   │   └── z.md  4 B',
        '│   │   └── y.md  4 B',
        '│   └── x.md  4 B',
        '└── zoo  4 B',
        '5 documents',
        '',
      ].join('\n'),
    );
    const folded = await call(toolbox, 'context_tree', { path: 'notes', max_depth: 1 });
    expect(folded.text).toBe('notes/\n├── deep/  2 documents\n└── x.md  4 B\n3 documents\n');
    expect(folded.tree).toEqual([
      { name: 'deep', path: 'notes/deep', documents: 2 },
      { name: 'x.md', path: 'notes/x.md', size: 4, kind: 'text' },
    ]);
    expect((await call(createWorkspace().toolbox(), 'context_tree', {})).text).toBe('0 documents\n');
  });

  spec.thorough('CTX-12', 'have normalised paths in every tool', async () => {
    const toolbox = createWorkspace().toolbox();
    await call(toolbox, 'context_write', { path: './notes//caf\u0065\u0301.md', content: 'x' });
    expect((await call(toolbox, 'context_read', { path: 'notes/caf\u00e9.md' })).path).toBe('notes/caf\u00e9.md');
    const tools = [
      (path: string) => ['context_write', { path, content: 'x' }],
      (path: string) => ['context_read', { path }],
      (path: string) => ['context_copy', { from: 'notes/caf\u00e9.md', to: path }],
      (path: string) => ['context_pipe', { tool_name: 'workdir', path }],
      (path: string) => ['context_query', { path, expression: '$' }],
      (path: string) => ['context_exists', { path }],
    ] as unknown as ((path: string) => [string, object])[];
    for (const tool of tools) {
      for (const path of ['/etc/passwd', '../x', 'a/../../x', '~/x', 'C:/x', 'a\\b'])
        expect(await fail(toolbox, ...tool(path)), path).toMatchObject({ code: 'path_escape' });
      for (const path of ['', 'a\0b', 'a\nb', 'x'.repeat(2000), 'a/'.repeat(40)])
        expect(await fail(toolbox, ...tool(path)), path).toMatchObject({ code: 'invalid_input' });
    }
  });

  spec('CTX-13', 'keep every version and can be restored', async () => {
    const toolbox = createWorkspace().toolbox();
    for (const content of ['one', 'two'])
      await call(toolbox, 'context_write', { path: 'v', content, on_conflict: 'overwrite' });
    expect((await call(toolbox, 'context_read', { path: 'v', version: 1 })).text).toBe('one');
    await call(toolbox, 'context_delete', { path: 'v' });
    expect(await fail(toolbox, 'context_read', { path: 'v' })).toMatchObject({
      code: 'not_found',
      hint: expect.stringContaining('version: 2'),
    });
    expect((await call(toolbox, 'context_read', { path: 'v', version: 2 })).text).toBe('two');
    const { versions, text } = await call(toolbox, 'context_versions', { path: 'v' });
    expect(versions.map((one: Loose) => [one.version, one.size])).toEqual([
      [3, null],
      [2, 3],
      [1, 3],
    ]);
    expect(text).toMatch(/^VERSION +SIZE +CHANGED\n3 +deleted/);
    expect(await call(toolbox, 'context_restore', { path: 'v' })).toMatchObject({
      version: 4,
      restored_version: 2,
    });
    expect((await call(toolbox, 'context_read', { path: 'v' })).text).toBe('two');
    expect(await fail(toolbox, 'context_restore', { path: 'v' })).toMatchObject({ code: 'invalid_input' });
    await call(toolbox, 'context_restore', { path: 'v', version: 1 });
    expect((await call(toolbox, 'context_read', { path: 'v' })).text).toBe('one');
    expect(await fail(toolbox, 'context_restore', { path: 'v', version: 3 })).toMatchObject({
      code: 'not_found',
    });
  });
});

describe('edit', () => {
  const lines = 'a\nb\nc\n';

  spec('CTX-11', 'applies all patches or none, and keeps JSON valid', async () => {
    const toolbox = createWorkspace().toolbox();
    await call(toolbox, 'context_write', { path: 'x', content: lines });
    const patches = [
      { start_line: 3, end_line: 3, content: 'C' },
      { start_line: 1, end_line: 0, content: 'first' },
      { start_line: 2, end_line: 2, content: '', expected: 'b' },
    ];
    expect(await call(toolbox, 'context_edit', { path: 'x', patches })).toMatchObject({ version: 2 });
    expect((await call(toolbox, 'context_read', { path: 'x' })).text).toBe('first\na\nC\n');
    const bad = [
      { start_line: 1, end_line: 1, content: 'changed' },
      { start_line: 9, end_line: 9, content: 'x' },
    ];
    expect(await fail(toolbox, 'context_edit', { path: 'x', patches: bad })).toMatchObject({
      code: 'invalid_input',
      data: { patch: 1 },
    });
    const unexpected = [{ start_line: 1, end_line: 1, content: 'x', expected: 'second' }];
    expect(await fail(toolbox, 'context_edit', { path: 'x', patches: unexpected })).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('"first"'),
    });
    expect(await call(toolbox, 'context_read', { path: 'x' })).toMatchObject({
      text: 'first\na\nC\n',
      version: 2,
    });

    await call(toolbox, 'context_write', { path: 'x.json', content: '{\n"a": 1\n}\n' });
    const breaking = [{ start_line: 2, end_line: 2, content: '"a": ' }];
    expect(await fail(toolbox, 'context_edit', { path: 'x.json', patches: breaking })).toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('would make x.json invalid JSON'),
    });
    await call(toolbox, 'context_edit', {
      path: 'x.json',
      patches: [{ start_line: 2, end_line: 2, content: '"a": 2' }],
    });
    expect((await call(toolbox, 'context_read', { path: 'x.json' })).text).toBe('{\n"a": 2\n}\n');
  });

  spec('CTX-11', 'rejects concurrent edits of the same version', async () => {
    const workspace = createWorkspace();
    const toolboxes = [workspace.toolbox(), workspace.toolbox()];
    await call(toolboxes[0]!, 'context_write', { path: 'x', content: '' });
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        toolboxes[at % 2]!.call('context_edit', {
          path: 'x',
          patches: [{ start_line: 1, end_line: 0, content: `edit ${at}` }],
        }),
      ),
    );
    const done = results.flatMap(({ ok }, at) => (ok ? [`edit ${at}`] : []));
    expect(done.length).toBeGreaterThan(0);
    for (const { ok, error } of results) if (!ok) expect(error?.code).toBe('path_conflict');
    const { text } = await call(toolboxes[1]!, 'context_read', { path: 'x' });
    expect(text.trim().split('\n').sort()).toEqual(done.sort());
  });
});

describe('search', () => {
  spec('CTX-40', 'returns a snippet with its lines as soon as the write returns', async () => {
    const toolbox = createWorkspace().toolbox();
    const filler = 'nothing of interest here\n'.repeat(300);
    const content = `${filler}the quarterly revenue rose\n${filler}`;
    await call(toolbox, 'context_write', { path: 'notes/q3.md', content });
    const { hits, text } = await call(toolbox, 'context_search', { query: 'quarterly revenue' });
    expect(hits).toHaveLength(1);
    expect(hits[0].path).toBe('notes/q3.md');
    expect(hits[0].snippet).toContain('quarterly revenue rose');
    expect(hits[0].snippet.length).toBeLessThanOrEqual(300);
    expect(hits[0].start_line).toBeLessThanOrEqual(301);
    expect(hits[0].end_line).toBeGreaterThanOrEqual(301);
    // context_read returns the same lines.
    const read = await call(toolbox, 'context_read', {
      path: 'notes/q3.md',
      offset: hits[0].start_line,
      limit: hits[0].end_line - hits[0].start_line + 1,
    });
    expect(read.text).toContain('quarterly revenue rose');
    expect(text).toMatch(/^notes\/q3\.md:\d+-\d+\n {2}.*quarterly revenue rose/);
    for (let at = 0; at < 5; at++) await call(toolbox, 'context_write', { path: `other/${at}.md`, content: 'revenue' });
    expect((await call(toolbox, 'context_search', { query: 'revenue', path: 'other', limit: 3 })).hits).toHaveLength(3);
    expect((await call(toolbox, 'context_search', { query: 'zebra' })).text).toBe('no results for "zebra"');
    await call(toolbox, 'context_delete', { path: 'notes/q3.md' });
    expect((await call(toolbox, 'context_search', { query: 'quarterly' })).hits).toEqual([]);
  });
});

spec.thorough(
  'CTX-40 CTX-10',
  'indexing a large document does not block other writes, reads and searches',
  async () => {
    const toolbox = createWorkspace().toolbox();
    await call(toolbox, 'context_write', { path: 'small', content: 'a zebra' });
    await call(toolbox, 'context_write', { path: 'large', content: 'before' });
    const content = Buffer.from('the quick brown fox jumps over some lazy dogs\n'.repeat(500_000));
    let over = false;
    const writing = toolbox.state.stores.documents.write('large', content, { overwrite: true }).finally(() => {
      over = true;
    });
    let answered = 0;
    while (!over) {
      expect((await call(toolbox, 'context_search', { query: 'zebra' })).hits).toHaveLength(1);
      // Not visible until it is complete.
      const { text } = await call(toolbox, 'context_read', { path: 'large', limit: 1 });
      if (!over) expect(text).toBe('before');
      answered++;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect(answered).toBeGreaterThan(5);
    expect(await writing).toMatchObject({ version: 2 });
    expect((await call(toolbox, 'context_search', { query: 'fox' })).hits).toHaveLength(1);
    // Of concurrent writes to one path, one succeeds.
    const results = await Promise.all(
      Array.from({ length: 10 }, () => toolbox.call('context_write', { path: 'new', content: 'x' })),
    );
    expect(results.filter(({ ok }) => ok)).toHaveLength(1);
  },
);

describe('as commands', () => {
  spec('CTX-14', 'read, tree and search take path and query as positional arguments', async () => {
    const workspace = createWorkspace();
    const run = async (...args: string[]) => {
      const { status, stdout, stderr } = await wield(workspace, ['context', ...args]);
      expect([status, stderr], args.join(' ')).toEqual([0, '']);
      return stdout;
    };
    const content = Array.from({ length: 40 }, (_, at) => `line ${at + 1}`).join('\n');
    await run('write', 'notes/meeting.md', content);
    const read = await run('read', 'notes/meeting.md', '--offset', '10', '--limit', '20');
    expect(read.trim().split('\n')).toEqual(content.split('\n').slice(9, 29));
    expect(await run('tree', 'notes', '--max-depth', '3')).toContain('meeting.md');
    await run('write', 'q.md', 'The quarterly revenue rose.');
    expect(await run('search', 'quarterly revenue')).toMatch(/^q\.md:1-1\n/);
    const help = await run('tree', '--help');
    expect(help).toContain('wield context tree [path]');
  });

  spec.thorough('SRV-14 CTX-10', 'are offered to models on request only', async () => {
    const workspace = createWorkspace();
    const without = await connectStdio(workspace, 'newer');
    expect((await without.listTools()).tools.map(({ name }) => name)).not.toContain('context_read');
    const client = await connectStdio(workspace, 'newer', ['--with', 'context']);
    const names = (await client.listTools()).tools.map(({ name }) => name);
    for (const name of ['write', 'read', 'edit', 'tree', 'list', 'exists', 'copy', 'delete', 'restore', 'search'])
      expect(names).toContain(`context_${name}`);
    await client.callTool({ name: 'context_write', arguments: { path: 'a', content: 'hello\n' } });
    const { content } = await client.callTool({ name: 'context_read', arguments: { path: 'a' } });
    expect(content).toEqual([{ type: 'text', text: 'hello\n' }]);
    const clash = await client.callTool({ name: 'context_write', arguments: { path: 'a', content: 'x' } });
    expect(clash.isError).toBe(true);
    expect(JSON.stringify(clash.content)).toMatch(/\[path_conflict\].*context_read/);
  });
});
