// Search mode: five tools find, describe and call all others.

import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, vi } from 'vitest';
import { runAnthropicCall } from '../../../src/adapters/anthropic/index.js';
import type { Json } from '../../../src/core/json.js';
import { describePlan } from '../../../src/core/plan.js';
import { estimateTokens } from '../../../src/core/text.js';
import { defineTool } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { ACCEPT, connectAsking, connectStdio, type ProtocolVersion } from '../../support/clients.js';
import { NO_CORPORA, parseDefinition } from '../../support/corpora.js';
import { rounds, some } from '../../support/effort.js';
import { patience } from '../../support/patience.js';
import { shellScript } from '../../support/shell-script.js';
import { spec, specIf } from '../../support/spec.js';
import { createUpstreamWorkspace } from '../../support/upstream-workspace.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const FIVE = ['call_tool', 'describe_tool', 'query_result', 'read_result', 'search_tools'];
const SEARCH = ['--trust', '--mode', 'search'];
const VERSIONS: readonly ProtocolVersion[] = ['older', 'newer'];
const MODEL = { caller: { kind: 'model', door: 'test' } } as const;

interface Said {
  readonly text: string;
  readonly code?: string;
}

async function ask(client: Client, name: string, args: object): Promise<Said> {
  const { content, _meta } = await client.callTool({ name, arguments: args as Record<string, unknown> });
  const text = (content as { text?: string }[]).map((part) => part.text ?? '').join('\n');
  return { text, code: (_meta?.['wield/error'] as { code?: string } | undefined)?.code };
}

const namesOf = async (client: Client): Promise<string[]> =>
  (await client.listTools()).tools.map(({ name }) => name).sort();

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', shellScript('echo "Hello, $WIELD_PARAM_WHO"', '@param *who string Whom to greet'));
  workspace.script('deploy', shellScript('echo deployed', '@param *branch string Branch', '@destructive'));
  workspace.script('secret', shellScript('echo secret', '@hidden'));
  workspace.script('orders', shellScript('seq 1 9000', '@tag shop'));
  return workspace;
}

describe('search mode', () => {
  for (const protocol of some(VERSIONS, 1)) {
    spec('SRV-9', `lists five tools that find, describe and call the others (${protocol} protocol)`, async () => {
      const client = await connectStdio(createTools(), protocol, SEARCH);
      expect(await namesOf(client)).toEqual(FIVE);
      const found = await ask(client, 'search_tools', { queries: ['orders', 'deploy a branch'] });
      const lines = found.text.split('\n');
      // Named exactly.
      expect(lines[0]).toMatch(/^orders\(\) — /);
      expect(lines[1]).toMatch(/^deploy\(\{ branch: string \}\) — /);
      expect(found.text).not.toContain('secret');
      const described = JSON.parse((await ask(client, 'describe_tool', { name: 'greet' })).text);
      expect(described).toMatchObject({
        name: 'greet',
        signature: 'greet({ who: string })',
        input: { required: ['who'] },
      });
      expect(await ask(client, 'call_tool', { name: 'greet', input: { who: 'Ada' } })).toMatchObject({
        text: 'Hello, Ada\n',
      });
      const stored = await ask(client, 'call_tool', { name: 'orders' });
      const id = /r_[\w-]+/.exec(stored.text)![0];
      expect((await ask(client, 'query_result', { id, lines: '8999' })).text).toBe('8999\n');
    });
  }

  spec('SRV-9', 'errors are those of the tool, and hidden and unknown ones do not differ', async () => {
    const client = await connectStdio(createTools(), 'newer', SEARCH);
    const wrong = await ask(client, 'call_tool', { name: 'greet', input: { wo: 'Ada' } });
    expect(wrong).toMatchObject({ code: 'invalid_input', text: expect.stringContaining('unknown parameter "wo"') });
    const same = async (name: string) => {
      const answers = [
        await ask(client, 'call_tool', { name, input: {} }),
        await ask(client, 'describe_tool', { name }),
      ];
      return JSON.stringify(answers).replaceAll(name, 'NAME');
    };
    expect(await same('secret')).toBe(await same('zzzzzz'));
    expect(await same('secret')).toContain('not_found');
    expect(await ask(client, 'call_tool', { nam: 'greet' })).toMatchObject({ code: 'invalid_input' });
    expect(await ask(client, 'search_tools', { queries: [] })).toMatchObject({ code: 'invalid_input' });
    expect(await ask(client, 'search_tools', { queries: ['zzzzzz'] })).toMatchObject({
      text: 'No tool matches. Try other words.',
    });
  });

  for (const protocol of some(VERSIONS, 1)) {
    spec('SRV-98', `says whether a call would run, and runs nothing (${protocol} protocol)`, async () => {
      const workspace = createTools();
      workspace.script('touch', shellScript('touch ran; echo ran', '@param n integer A number'));
      workspace.script('barred', shellScript('echo no', '@param *code_word string A word'));
      const rules = [
        'greet(who=Bob,$deny)',
        'touch($policy=ask)',
        'barred($deny)',
        'send($after=untrusted,$policy=ask)',
      ];
      workspace.script('fetch', shellScript('echo page', '@label untrusted'));
      workspace.script('send', shellScript('echo sent'));
      workspace.config(`[trust]\nrules = ${JSON.stringify(rules)}\n`);
      const client = await connectStdio(workspace, protocol, SEARCH);
      const foresee = async (name: string, input: object) => {
        const { text, code } = await ask(client, 'describe_tool', { name, input });
        return code ?? JSON.parse(text).call;
      };
      expect(await foresee('greet', { who: 'Ada' })).toEqual({
        outcome: 'runs',
        reason: expect.any(String),
        plan: { kind: 'process', timeoutMs: expect.any(Number) },
      });
      expect(await foresee('greet', { who: 'Bob' })).toMatchObject({
        outcome: 'is denied',
        rule: expect.stringContaining('who=Bob'),
      });
      expect(await foresee('deploy', { branch: 'main' })).toMatchObject({ outcome: 'asks a person' });
      expect(await foresee('touch', { n: '3' })).toMatchObject({
        outcome: 'asks a person',
        rule: expect.stringContaining('touch'),
        repaired: [expect.objectContaining({ path: '/n' })],
      });
      expect(await foresee('call_tool', { name: 'greet', input: { who: 'Bob' } })).toMatchObject({
        outcome: 'is denied',
      });
      // Denied whatever the input: no parameters are shown.
      const barred = JSON.stringify(await foresee('call_tool', { name: 'barred', input: { x: 1 } }));
      expect(barred).toMatch(/is denied|not_found/);
      expect(barred).not.toMatch(/code_word|plan/);
      expect(await foresee('greet', { wo: 'Ada' })).toBe('invalid_input');
      expect(await foresee('send', {})).toMatchObject({ outcome: 'runs' });
      await ask(client, 'call_tool', { name: 'fetch' });
      expect(await foresee('send', {})).toMatchObject({
        outcome: 'asks a person',
        rule: expect.stringContaining('$after'),
      });
      expect(await foresee('secret', {})).toBe('not_found');
      expect(JSON.stringify(await foresee('greet', { who: 'Ada' }))).not.toContain(workspace.dir);
      expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
      expect(json(await wield(workspace, ['approvals', '--json'])).pending ?? []).toEqual([]);
    });
  }

  spec('SRV-98', 'counts what a person has decided, as the call does, and uses nothing up', async () => {
    const workspace = createTools();
    workspace.script('touch', shellScript('echo ran', '@param n integer A number'));
    workspace.config('mode = "search"\n[trust]\nrules = "touch($policy=ask)"\n');
    const toolbox = workspace.toolbox({ trust: true });
    const { approvals } = toolbox.state;
    const client = await connectStdio(workspace, 'older', ['--trust']);
    const doors: Readonly<Record<string, (name: string, input: object) => Promise<string>>> = {
      mcp: async (name, input) => (await ask(client, name, input)).text,
      adapter: async (name, input) => {
        const { content } = await runAnthropicCall(toolbox, { type: 'tool_use', id: '1', name, input });
        return (content[0] as { text: string }).text;
      },
    };
    for (const [door, say] of Object.entries(doors)) {
      const asked = (n: number, name = 'touch') => ({ name, input: { n } });
      const foresee = async (n: number): Promise<string> =>
        JSON.parse(await say('describe_tool', asked(n))).call.outcome;
      const pend = async (n: number): Promise<string> => {
        expect([door, await foresee(n)]).toEqual([door, 'asks a person']);
        const text = await say('call_tool', asked(n));
        expect(text).toContain('needs_approval');
        return /approvals approve (\w+)/.exec(text)![1]!;
      };
      await approvals.approve(await pend(1), false);
      expect([await foresee(1), await foresee(1), await foresee(2)]).toEqual(['runs', 'runs', 'asks a person']);
      expect(await say('call_tool', asked(1))).toBe('ran\n');
      expect(await foresee(1)).toBe('asks a person');
      await approvals.deny(await pend(3));
      expect(await foresee(3)).toBe('is denied');
      expect(await say('call_tool', asked(3))).toContain('denied');
      await approvals.approve(await pend(4), true);
      expect(await foresee(5)).toBe('runs');
      expect(await say('call_tool', asked(5))).toBe('ran\n');
    }
  });

  spec('SRV-98', 'shows the plan to people and code, and verdicts are those of the call', async () => {
    const workspace = createTools();
    workspace.config('mode = "search"\n');
    const input = { name: 'greet', input: { who: 'Ada' } };
    const { stdout } = await wield(workspace, ['call', 'describe_tool', '--input', JSON.stringify(input)]);
    const { plan, verdict } = await workspace.toolbox().plan('greet', input.input);
    expect(verdict.verdict).toBe('allow');
    expect(JSON.parse(stdout).call).toEqual({ outcome: 'runs', reason: verdict.reason, plan: describePlan(plan) });
    // Without trust, a model's call is denied, and so is what is foreseen.
    const result = await workspace.toolbox().call('describe_tool', input, MODEL);
    const called = await workspace.toolbox().call('greet', input.input, MODEL);
    expect(result.ok ? (result.structured as { call: Json }).call : result.error.code).toMatchObject({
      outcome: 'is denied',
      reason: expect.stringContaining('trust'),
    });
    expect(called.ok).toBe(false);
  });

  for (const protocol of some(VERSIONS, 1)) {
    spec('SRV-9 SRV-6 OBS-1', `approval and record name the called tool (${protocol} protocol)`, async () => {
      const workspace = createTools();
      const questions: string[] = [];
      workspace.config('mode = "search"\n');
      const client = await connectAsking(workspace, protocol, 'stdio', (message) => {
        questions.push(message);
        return ACCEPT;
      });
      expect((await ask(client, 'call_tool', { name: 'deploy', input: { branch: 'main' } })).text).toBe('deployed\n');
      expect(questions).toEqual([expect.stringContaining('deploy')]);
      const { records } = json(await wield(workspace, ['audit', '--json']));
      // In the newer protocol version the question ends one request, and the answer begins another.
      expect(new Set(records.map(({ tool }: { tool: string }) => tool))).toEqual(new Set(['deploy']));
    });
  }

  spec('SRV-9', 'progress and cancellation are those of the tool', async () => {
    let stopped = false;
    const slow = defineTool({
      name: 'slow',
      description: 'Waits.',
      execute: async (_input: object, { progress, signal }) => {
        progress(1, 2, 'half');
        while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
        stopped = true;
      },
    });
    const toolbox = createWorkspace().toolbox({ tools: [slow], mode: 'search' });
    const controller = new AbortController();
    const seen: unknown[] = [];
    const result = await toolbox.call(
      'call_tool',
      { name: 'slow' },
      {
        ...MODEL,
        signal: controller.signal,
        onProgress: (progress) => {
          seen.push(progress);
          controller.abort();
        },
      },
    );
    expect(result.error).toMatchObject({ code: 'cancelled', message: expect.stringContaining('slow') });
    expect(seen).toEqual([{ done: 1, total: 2, message: 'half' }]);
    await expect.poll(() => stopped).toBe(true);
  });

  spec('SRV-9 POL-12', 'a rule can deny call_tool, also by the name that it is given', async () => {
    const workspace = createTools();
    workspace.config('allowed-tools = "* call_tool(name=greet,$deny)"\nmode = "search"\n');
    const toolbox = workspace.toolbox({ trust: true });
    const call = (name: string, input: object) => toolbox.call('call_tool', { name, input }, MODEL);
    expect((await call('greet', { who: 'Ada' })).error).toMatchObject({ code: 'denied' });
    expect((await call('orders', {})).ok).toBe(true);
    workspace.config('allowed-tools = "* call_tool($deny)"\nmode = "search"\n');
    expect((await call('orders', {})).error).toMatchObject({ code: 'denied' });
    workspace.config('mode = "all"\n');
    expect((await call('orders', {})).error).toMatchObject({ code: 'not_found' });
  });

  spec('SRV-9 COD-5', 'signatures have the parameters of all parts of the schema', async () => {
    const branch = (k: string, name: string) => ({
      type: 'object',
      properties: { k: { const: k }, [name]: { type: 'integer' } },
      required: ['k', name],
    });
    const union = { type: 'object', oneOf: [branch('x', 'a'), branch('y', 'b')] };
    for (const [inputSchema, signature] of [
      [union, '({ k: "x" | "y", a?: number, b?: number })'],
      [{ $ref: '#/$defs/u', $defs: { u: union } }, '({ k: "x" | "y", a?: number, b?: number })'],
      [
        { type: 'object', allOf: [branch('x', 'a'), { properties: { c: { type: 'string' } } }] },
        '({ k: "x", a: number, c?: string })',
      ],
      [
        { type: 'object', properties: { p: { allOf: [branch('x', 'a')] } }, anyOf: [{ required: ['p'] }] },
        '({ p: { k: "x", a: number } })',
      ],
      [{ type: 'object', additionalProperties: { type: 'number' } }, '({ [name: string]: number })'],
      [{ type: 'object', additionalProperties: true }, '({ [name: string]: any })'],
      [{ type: 'object', additionalProperties: false }, '()'],
    ] as const) {
      const tools = [{ name: 'un', description: 'About it.', inputSchema, execute: () => '' }];
      const toolbox = createWorkspace().toolbox({ tools: tools as never, mode: 'search' });
      const { content } = await toolbox.call('search_tools', { queries: ['un'] }, MODEL);
      expect(content).toMatchObject([{ text: `un${signature} — About it.` }]);
    }
  });

  spec('SRV-9 UPS-4', 'a server that is down differs from a tool that does not exist', async () => {
    const workspace = createUpstreamWorkspace({ near: {}, far: { more: { command: '/nonexistent/server' } } });
    const client = await connectStdio(workspace, 'newer', SEARCH);
    const found = await ask(client, 'search_tools', { queries: ['say it again'] });
    expect(found.text).toMatch(/^near_echo\(\{ text: string \}\) — Say it again\./);
    expect(found.text).toContain('Not searched, because the server is not available: far');
    expect((await ask(client, 'call_tool', { name: 'far_echo' })).code).toBe('unavailable');
    expect((await ask(client, 'describe_tool', { name: 'far_echo' })).code).toBe('unavailable');
    expect((await ask(client, 'call_tool', { name: 'near_ech' })).code).toBe('not_found');
    // A server whose tools are all denied is not named.
    workspace.config('allowed-tools = "* far_*($deny)"\n');
    expect((await ask(client, 'search_tools', { queries: ['say it again'] })).text).not.toContain('far');
    expect((await ask(client, 'call_tool', { name: 'near_echo', input: { text: 'hi' } })).text).toBe('hi');
  });

  spec('SRV-25 SRV-4', 'auto is search mode above 40 tools or 8,000 tokens when a session begins', async () => {
    const workspace = createWorkspace();
    workspace.config('mode = "auto"\n');
    for (let at = 0; at < 40; at++) workspace.script(`tool-${at}`, shellScript('echo'));
    let changes = 0;
    const client = await connectStdio(workspace, 'older', ['--trust'], () => changes++);
    expect(await namesOf(client)).toHaveLength(42);
    expect((await ask(client, 'search_tools', { queries: ['tool-7'] })).text).toMatch(/^tool-7\(/);
    workspace.script('tool-40', shellScript('echo'));
    await vi.waitFor(() => expect(changes).toBeGreaterThan(0), patience(10_000));
    expect(await namesOf(client)).toHaveLength(43);
    expect(await namesOf(await connectStdio(workspace, 'older', ['--trust']))).toEqual(FIVE);
    const wordy = createWorkspace();
    for (let at = 0; at < 4; at++)
      wordy.script(`tool-${at}`, `#!/bin/sh\n# @description ${'Many words about it. '.repeat(500)}\necho\n`);
    const shown = await wordy.toolbox({ mode: 'auto' }).list(MODEL);
    expect(shown.map(({ name }) => name).sort()).toEqual(FIVE);
  });

  spec('SRV-89', 'several queries share a longer answer, whose last lines are short', async () => {
    const areas = ['mail', 'file', 'chart', 'train', 'stock'];
    const tools = areas.flatMap((area) =>
      Array.from({ length: 12 }, (_, at) =>
        defineTool({
          name: `${area}-${at}`,
          description: `Work with a ${area}. ${'It does that in a long way. '.repeat(8)}`,
          inputSchema: { type: 'object', properties: at === 9 ? {} : { [`${area}Id`]: { type: 'string' } } },
          execute: () => area,
        }),
      ),
    );
    const search = async (input: object, mode: 'search' | 'code' = 'search') => {
      const result = await createWorkspace()
        .toolbox({ tools, mode })
        .call('search_tools', input as Json, MODEL);
      const { tools: names } = result.structured as { tools: string[] };
      return { names, lines: (result.content[0] as { text: string }).text.split('\n') };
    };
    for (const [at, length] of [10, 12, 18, 24, 30].entries()) {
      const queries = areas.slice(0, at + 1);
      const { names, lines } = await search({ queries });
      expect(names).toHaveLength(length);
      expect(lines.map((line) => /^[\w-]+/.exec(line)![0])).toEqual(names);
      for (const area of queries)
        expect(names.filter((name) => name.startsWith(area)).length).toBeGreaterThanOrEqual(at === 0 ? 10 : 6);
      for (const line of lines.slice(0, 5)) expect(line).toMatch(/^([a-z]+)-\d+\((\{ \1Id\?: string \})?\) — .{140}$/);
      for (const line of lines.slice(5))
        expect(line).toMatch(line.includes('-9') ? /-9\(\) — .{40}$/ : /-\d+\(…\) — .{40}$/);
    }
    expect((await search({ queries: areas, limit: 7 })).names).toHaveLength(7);
    const inPrograms = await search({ queries: ['mail'] }, 'code');
    expect(inPrograms.lines[0]).toMatch(/^tools\.mail_\d+\(\{ mailId\?: string \}\): Promise<string> — /);
    expect(inPrograms.lines[8]).toMatch(/^tools\.mail_\d+\(…?\) — /);
  });

  spec(
    'SRV-9 SRV-14',
    'built-in tools that were asked for are listed too, and skills are read through call_tool',
    async () => {
      const workspace = createTools();
      workspace.write('.agents/skills/notes/SKILL.md', '---\nname: notes\ndescription: Keep notes.\n---\nWrite.\n');
      const client = await connectStdio(workspace, 'newer', [...SEARCH, '--with', 'workdir']);
      expect(await namesOf(client)).toEqual([...FIVE, 'workdir']);
      expect(client.getInstructions()).toContain('Use call_tool to call read_skill');
      const read = await ask(client, 'call_tool', { name: 'read_skill', input: { skill_name: 'notes' } });
      expect(read.text).toContain('Write.');
      expect((await wield(workspace, ['serve', '--mode', 'few'])).stderr).toContain('mode');
    },
  );
});

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const CORPORA = process.env.WIELD_CORPORA ?? resolve(ROOT, '..', 'shared/corpora');
const FILES = [
  'schemas/mcp-tools',
  ...['livemcp', 'metatool', 'stabletoolbench'].map((set) => `retrieval/${set}/tools`),
];
const FOUND = FILES.map((file) => join(CORPORA, `${file}.jsonl`)).filter(existsSync);

specIf.thorough(
  FOUND.length === FILES.length,
  NO_CORPORA,
  'SRV-9 TOOL-3',
  'thousands of real tools cost at most 600 tokens, and are found by their names and called',
  async () => {
    const seen = new Set<string>();
    const tools = FOUND.flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
      .map(parseDefinition)
      .map(({ server = '', name, ...tool }) => ({
        ...tool,
        name: `t${`${server}_${name}`.replace(/[^\w-]/g, '-').slice(-60)}`,
      }))
      .filter(({ name }) => !seen.has(name) && seen.add(name))
      .map(({ name, description, inputSchema, parameters = { type: 'object' } }) => ({
        name,
        description: description?.trim() || name,
        inputSchema: inputSchema ?? parameters,
        execute: () => name,
      }));
    expect(tools.length).toBeGreaterThan(3500);
    const toolbox = createWorkspace().toolbox({ tools: tools as never, mode: 'search' });
    const { listForClients } = await import('../../../src/mcp-server/listing.js');
    const listed = JSON.stringify({ tools: await listForClients(toolbox) });
    expect(estimateTokens(listed)).toBeLessThanOrEqual(600);
    const step = Math.ceil(tools.length / rounds(40, tools.length));
    for (const { name } of tools.filter((_, at) => at % step === 0)) {
      const found = await toolbox.call('search_tools', { queries: ['send a mail', name], limit: 3 }, MODEL);
      expect((found.content[0] as { text: string }).text.split('(')[0]).toBe(name);
    }
    const last = tools.at(-1)!.name;
    expect((await toolbox.call('call_tool', { name: last, input: {} }, MODEL)).error?.code ?? 'ok').toMatch(
      /^(?:ok|invalid_input)$/,
    );
  },
  300_000,
);
