import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import type { CallOptions } from '../../../src/core/toolbox.js';
import { defineTool, type ToolContext } from '../../../src/index.js';
import type { NodeToolbox } from '../../../src/node.js';
import { connectStdio } from '../../support/clients.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read results of any shape
type Loose = any;

const MODEL: CallOptions = { caller: { kind: 'model', door: 'test' } };

async function pipe(toolbox: NodeToolbox, input: object, options?: CallOptions): Promise<Loose> {
  const result = await toolbox.call('context_pipe', input, options);
  expect(result.error).toBeUndefined();
  return result.structured;
}

async function refused(toolbox: NodeToolbox, input: object, options?: CallOptions): Promise<Loose> {
  const result = await toolbox.call('context_pipe', { path: 'out', ...input }, options);
  expect(result.ok).toBe(false);
  // Nothing was written.
  expect(await toolbox.state.stores.documents.list()).toEqual([]);
  return result.error;
}

async function read(toolbox: NodeToolbox, path: string): Promise<string> {
  const result = await toolbox.call('context_read', { path }, { full: true });
  expect(result.error).toBeUndefined();
  return textOf(result);
}

const seen: unknown[] = [];
const TOOLS = [
  defineTool({
    name: 'records',
    description: 'Gives records.',
    inputSchema: {
      type: 'object',
      properties: { count: { type: 'integer', minimum: 1 } },
      required: ['count'],
    },
    execute: ({ count }: { count: number }) => {
      seen.push(count);
      return Array.from({ length: count }, (_, id) => ({ id, name: `name ${id}` }));
    },
  }),
  defineTool({ name: 'say', description: 'Says.', execute: () => `"quoted"\n${'😀'.repeat(300)}` }),
  defineTool({
    name: 'parts',
    description: 'Gives parts.',
    execute: () => ({
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    }),
  }),
  defineTool({ name: 'finish', description: 'Ends.', terminal: true, execute: () => seen.push('finish') }),
  defineTool({ name: 'secret', description: 'Hidden.', hidden: true, execute: () => 'secret' }),
  defineTool({
    name: 'fails',
    description: 'Fails.',
    execute: () => {
      throw new Error(`it broke ${'é'.repeat(3000)}`);
    },
  }),
  defineTool({
    name: 'relay',
    description: 'Calls another.',
    inputSchema: { type: 'object', properties: { tool: { type: 'string' } }, required: ['tool'] },
    execute: async ({ tool }: { tool: string }, { toolbox }: ToolContext) => {
      const inner = await toolbox.call(tool, tool === 'context_pipe' ? { tool_name: 'say', path: 'inner' } : {});
      return { code: inner.error?.code ?? null };
    },
  }),
];

describe('storing', () => {
  spec('CTX-20', 'stores JSON, text or stdout, without an envelope', async () => {
    const workspace = createWorkspace();
    const toolbox = workspace.toolbox({ tools: TOOLS });
    const ack = await pipe(toolbox, { tool_name: 'records', tool_input: { count: 303 }, path: 'r.json' });
    const stored = await read(toolbox, 'r.json');
    expect(JSON.parse(stored)).toHaveLength(303);
    expect(ack).toEqual({ path: 'r.json', bytes_written: stored.length, preview: stored.slice(0, 200) });
    await pipe(toolbox, { tool_name: 'parts', path: 'parts.txt' });
    expect(await read(toolbox, 'parts.txt')).toBe('ab');
    await pipe(toolbox, { tool_name: 'say', path: 'say.txt' });
    expect(await read(toolbox, 'say.txt')).toBe(`"quoted"\n${'😀'.repeat(300)}`);

    // A number beyond JavaScript's precision, unusual spaces, and stderr: exactly the bytes of stdout are stored.
    const bytes = '{ "id": 12345678901234567890 ,\n "b":1.0 }\n';
    workspace.script('print', `#!/bin/sh\n# @description P\nprintf '%s' '${bytes}'\necho beside >&2\n`);
    workspace.script('binary', "#!/bin/sh\n# @description B\nprintf '\\377\\000\\376'\n");
    workspace.script('quiet', '#!/bin/sh\n# @description Q\necho only here >&2\n');
    await pipe(toolbox, { tool_name: 'print', path: 'print.json' });
    expect(await read(toolbox, 'print.json')).toBe(bytes);
    expect(await pipe(toolbox, { tool_name: 'binary', path: 'b' })).toMatchObject({ bytes_written: 3 });
    expect(await pipe(toolbox, { tool_name: 'quiet', path: 'q' })).toMatchObject({
      bytes_written: 0,
      preview: '',
    });
  });

  spec.thorough('CTX-20', 'stores all output and returns only a preview', async () => {
    const workspace = createWorkspace();
    workspace.script('flood', '#!/bin/sh\n# @description F\nhead -c 30000000 /dev/zero | tr "\\0" x\n');
    const toolbox = workspace.toolbox({ tools: TOOLS, offer: ['context'], trust: true });
    const result = await toolbox.call('context_pipe', { tool_name: 'flood', path: 'big' }, MODEL);
    expect(result.structured).toEqual({ path: 'big', bytes_written: 30_000_000, preview: 'x'.repeat(200) });
    expect(result.meta.handle).toBeUndefined();
    expect(textOf(result).length).toBeLessThan(300);
  });

  spec('CTX-20', 'limits the preview to 200 characters and splits none', async () => {
    const toolbox = createWorkspace().toolbox({ tools: TOOLS });
    const { preview } = await pipe(toolbox, { tool_name: 'say', path: 'say' });
    expect(preview.length).toBeLessThanOrEqual(200);
    expect(preview.length).toBeGreaterThan(190);
    expect(preview.isWellFormed?.() ?? !/[\uD800-\uDBFF]$/.test(preview)).toBe(true);
  });

  spec('CTX-20', 'makes the document searchable immediately', async () => {
    const toolbox = createWorkspace().toolbox({ tools: TOOLS });
    await pipe(toolbox, { tool_name: 'records', tool_input: { count: 50 }, path: 'deep/r.json' });
    const { structured } = await toolbox.call('context_search', { query: 'name 42' });
    expect((structured as Loose).hits[0].path).toBe('deep/r.json');
  });

  spec('CTX-20 CTX-10', 'rejects an existing path before the tool runs', async () => {
    const toolbox = createWorkspace().toolbox({ tools: TOOLS });
    await toolbox.call('context_write', { path: 'taken', content: 'old' });
    const before = seen.length;
    const input = { tool_name: 'records', tool_input: { count: 1 }, path: 'taken' };
    const { error } = await toolbox.call('context_pipe', input);
    expect(error).toMatchObject({
      code: 'path_conflict',
      hint: expect.stringMatching(/context_read.*overwrite/),
    });
    expect(seen.length).toBe(before);
    await pipe(toolbox, { ...input, on_conflict: 'overwrite' });
    expect(JSON.parse(await read(toolbox, 'taken'))).toEqual([{ id: 0, name: 'name 0' }]);
  });
});

describe('rejects', () => {
  spec('CTX-21', 'terminal tools and context_pipe itself', async () => {
    const toolbox = createWorkspace().toolbox({ tools: TOOLS });
    const before = seen.length;
    for (const tool_name of ['finish', 'context_pipe']) {
      expect(await refused(toolbox, { tool_name, tool_input: { tool_name: 'say', path: 'x' } })).toMatchObject({
        code: 'forbidden_tool',
        hint: expect.any(String),
      });
    }
    expect(seen.length).toBe(before);
  });

  spec('CTX-21', 'the same tools called by a piped tool, which may call others', async () => {
    const toolbox = createWorkspace().toolbox({ tools: TOOLS });
    const before = seen.length;
    for (const tool of ['finish', 'context_pipe']) {
      await pipe(toolbox, { tool_name: 'relay', tool_input: { tool }, path: `by-${tool}` });
      expect(JSON.parse(await read(toolbox, `by-${tool}`))).toEqual({ code: 'forbidden_tool' });
    }
    expect(seen.length).toBe(before);
    await pipe(toolbox, { tool_name: 'relay', tool_input: { tool: 'say' }, path: 'say' });
    expect(JSON.parse(await read(toolbox, 'say'))).toEqual({ code: null });
    // Allowed outside of a pipe.
    expect((await toolbox.call('relay', { tool: 'finish' })).structured).toEqual({ code: null });
  });

  spec('CTX-21', 'the same tools by path, by URI, and from a module in the tool host', async () => {
    const workspace = createWorkspace();
    const mark = workspace.write('mark', '');
    const file = workspace.script('done', `#!/bin/sh\n# @description D\n# @terminal\necho ran >> '${mark}'\n`);
    workspace.write(
      '.agents/tools/inner.tool.mjs',
      `export default {
         name: 'inner',
         description: 'Calls the pipe and a terminal tool.',
         execute: async (input, { toolbox }) => [
           (await toolbox.call('context_pipe', { tool_name: 'workdir', path: 'inner' })).error?.code,
           (await toolbox.call('done', {})).error?.code,
         ],
       };\n`,
    );
    const toolbox = workspace.toolbox({ trust: true });
    for (const tool_name of ['done', file, './.agents/tools/done', `file://${file}`])
      expect(await refused(toolbox, { tool_name }), tool_name).toMatchObject({ code: 'forbidden_tool' });
    await pipe(toolbox, { tool_name: 'inner', path: 'out' });
    expect(JSON.parse(await read(toolbox, 'out'))).toEqual(['forbidden_tool', 'forbidden_tool']);
    expect(readFileSync(mark, 'utf8')).toBe('');
  });

  spec('CTX-21', 'invalid inner input, listing every fault', async () => {
    const toolbox = createWorkspace().toolbox({ tools: TOOLS });
    const tool_input = { count: 0, more: 1 };
    const error = await refused(toolbox, { tool_name: 'records', tool_input });
    const direct = await toolbox.call('records', tool_input);
    expect(error).toEqual(direct.error);
    expect(error.code).toBe('invalid_input');
    expect(error.data.faults.map((fault: Loose) => fault.path).sort()).toEqual(['/count', '/more']);
  });

  spec('CTX-21', 'with inner_tool_error and up to 2 KB of the message if the tool fails', async () => {
    const workspace = createWorkspace();
    workspace.script('exits', '#!/bin/sh\n# @description E\necho half of it\necho why >&2\nexit 3\n');
    const toolbox = workspace.toolbox({ tools: TOOLS });
    const broken = await refused(toolbox, { tool_name: 'fails' });
    expect(broken).toMatchObject({ code: 'inner_tool_error', data: { tool: 'fails', code: 'tool_failed' } });
    expect(broken.message).toMatch(/^fails failed: it broke é+…$/);
    expect(Buffer.byteLength(broken.message)).toBeLessThanOrEqual(2048);
    expect(Buffer.byteLength(broken.message)).toBeGreaterThan(2000);
    const exits = await refused(toolbox, { tool_name: 'exits' });
    expect(exits).toMatchObject({
      code: 'inner_tool_error',
      message: expect.stringMatching(/status 3[\s\S]*why/),
    });
    // A not_found of the inner tool is an inner_tool_error.
    const inner = await refused(toolbox, { tool_name: 'context_read', tool_input: { path: 'no' } });
    expect(inner).toMatchObject({ code: 'inner_tool_error', data: { code: 'not_found' } });
  });

  spec('CTX-21', 'tools that the caller may not call, with the error of a direct call', async () => {
    const workspace = createWorkspace();
    workspace.script('local', '#!/bin/sh\n# @description L\necho ran\n');
    const toolbox = workspace.toolbox({ tools: TOOLS, offer: ['context_pipe'] });
    for (const tool_name of ['secret', 'context_write', 'nothing', 'local', 'not a name']) {
      const direct = await toolbox.call(tool_name, {}, MODEL);
      expect(direct.ok).toBe(false);
      expect(await refused(toolbox, { tool_name, tool_input: {} }, MODEL)).toEqual(direct.error);
    }
    expect((await toolbox.call('local', {}, MODEL)).error?.code).toBe('needs_trust');
    // On the command line both may be called, piped or not.
    await pipe(toolbox, { tool_name: 'secret', path: 'a' });
    await pipe(toolbox, { tool_name: 'local', path: 'b' });
    expect(await read(toolbox, 'b')).toBe('ran\n');
  });

  spec('CTX-20 CTX-21 POL-14', 'calls denied by a rule on the inner arguments, and no others', async () => {
    const workspace = createWorkspace();
    workspace.config('[trust]\nrules = ["records(count=3,$deny)"]\n');
    const toolbox = workspace.toolbox({ tools: TOOLS, offer: ['context'] });
    const tool_input = { count: 3 };
    const direct = await toolbox.call('records', tool_input, MODEL);
    expect(direct.error?.code).toBe('denied');
    const before = seen.length;
    expect(await refused(toolbox, { tool_name: 'records', tool_input }, MODEL)).toEqual(direct.error);
    expect(seen.length).toBe(before);
    await pipe(toolbox, { tool_name: 'records', tool_input: { count: 4 }, path: 'four' }, MODEL);
  });

  spec('CTX-20 RUN-6', 'cancelling stops the tool and stores nothing', async () => {
    const workspace = createWorkspace();
    workspace.script('slow', '#!/bin/sh\n# @description S\necho begun\nexec sleep 600\n');
    const toolbox = workspace.toolbox();
    const controller = new AbortController();
    const running = toolbox.call('context_pipe', { tool_name: 'slow', path: 'out' }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    expect((await running).error?.code).toBe('cancelled');
    expect(await toolbox.state.stores.documents.list()).toEqual([]);
  });
});

spec('CTX-20', 'an MCP client gets only the path, size and preview', async () => {
  const workspace = createWorkspace();
  const long = `#!/bin/sh\n# @description Long\nseq 1 40000\n`;
  workspace.script('long', long);
  const client = await connectStdio(workspace, 'newer', ['--trust', '--with', 'context']);
  const { content, structuredContent } = await client.callTool({
    name: 'context_pipe',
    arguments: { tool_name: 'long', path: 'research/grep-results.txt' },
  });
  expect(structuredContent).toMatchObject({ path: 'research/grep-results.txt', bytes_written: 228_894 });
  expect(JSON.stringify(content).length).toBeLessThan(400);
  const found = await client.callTool({ name: 'context_search', arguments: { query: '31415' } });
  expect(JSON.stringify(found.content)).toContain('research/grep-results.txt');
});
