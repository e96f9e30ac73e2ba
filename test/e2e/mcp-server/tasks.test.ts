// Calls as tasks, in both protocol versions.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { wield } from '../../support/cli.js';
import { ACCEPT, connectUrl } from '../../support/clients.js';
import { createModuleWorkspace, moduleText } from '../../support/modules.js';
import { createServeTransport, serveUrl } from '../../support/serve.js';
import { until } from '../../support/server.js';
import { onEnd } from '../../support/share.js';
import { shellScript } from '../../support/shell-script.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const ANY = { '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) } } as never;
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

interface TaskFields {
  readonly taskId: string;
  readonly status: string;
  readonly statusMessage?: string;
  readonly resultType?: string;
  readonly ttl?: number;
  readonly ttlMs?: number;
  readonly content?: readonly { readonly text: string }[];
  readonly isError?: boolean;
  readonly inputRequests?: Readonly<Record<string, { readonly params: { readonly message: string } }>>;
  readonly result?: { readonly content: readonly { readonly text: string }[] };
}

function createSlow(): Workspace {
  const workspace = createWorkspace();
  workspace.script('quick', shellScript('echo quick'));
  // Waits until the test lets it go on.
  workspace.script('slow', shellScript(`while [ ! -e ${join(workspace.home, 'go')} ]; do sleep 0.05; done; echo slow`));
  workspace.script(
    'forever',
    shellScript(`echo $$ > ${join(workspace.home, 'pid')}; sleep 600; touch ${join(workspace.home, 'ran')}`),
  );
  workspace.script(
    'patient',
    shellScript(
      `touch ${join(workspace.home, 'ran')}; while [ ! -e ${join(workspace.home, 'go')} ]; do sleep 0.05; done; echo done`,
      '@destructive',
    ),
  );
  workspace.script('careful', shellScript(`touch ${join(workspace.home, 'ran')}; echo done`, '@destructive'));
  return workspace;
}

async function connect(
  workspace: Workspace,
  version: 'older' | 'newer',
  capabilities: object = {},
  flags: readonly string[] = [],
): Promise<Client> {
  const negotiation = version === 'newer' ? { versionNegotiation: { mode: 'auto' } } : {};
  const client = new Client({ name: 'tasks', version: '1' }, { ...negotiation, capabilities } as never);
  await client.connect(createServeTransport(workspace, ['--trust', ...flags]));
  onEnd(() => client.close());
  if (version === 'older') return client;
  capabilitiesOf.set(client, capabilities);
  const transport = client.transport!;
  const { onmessage } = transport;
  transport.onmessage = (message) => {
    const settle = waiting.get((message as Answer).id);
    if (settle === undefined) onmessage?.(message);
    else settle(message as Answer);
  };
  return client;
}

interface Answer {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: object;
}

const capabilitiesOf = new WeakMap<Client, object>();
const waiting = new Map<unknown, (answer: Answer) => void>();
let sent = 0;

/** Sends a request of the newer version beside the SDK's client, which knows no tasks. */
async function sendRaw(client: Client, method: string, params: object): Promise<unknown> {
  const id = `raw-${++sent}`;
  const answered = new Promise<Answer>((resolve) => waiting.set(id, resolve));
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': capabilitiesOf.get(client),
    'io.modelcontextprotocol/clientInfo': { name: 'tasks', version: '1' },
  };
  await client.transport!.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta } });
  const { result, error } = await answered;
  if (error !== undefined) throw error;
  return result;
}

type Sent = TaskFields & { readonly task: TaskFields };

const send = (client: Client, method: string, params: object): Promise<Sent> =>
  (capabilitiesOf.has(client)
    ? sendRaw(client, method, params)
    : client.request({ method, params } as never, ANY)) as Promise<Sent>;
const start = (client: Client, name: string, more: object = {}) => send(client, 'tools/call', { name, ...more });
const get = (client: Client, { taskId }: TaskFields) => send(client, 'tasks/get', { taskId });

describe.concurrent('a task of the older protocol version', () => {
  // Longer than a test waits: a task ends at the end of its ttl too.
  const task = { task: { ttl: 600_000 } };

  spec('SRV-70', 'is created, looked up, listed, and its result fetched', async () => {
    const workspace = createSlow();
    const client = await connect(workspace, 'older');
    expect(client.getServerCapabilities()).toMatchObject({ tasks: { requests: { tools: { call: {} } }, list: {} } });
    const { task: created } = await start(client, 'slow', task);
    expect(created).toMatchObject({ status: 'working', ttl: 600_000, pollInterval: 1000 });
    expect(await get(client, created)).toMatchObject({ taskId: created.taskId, status: 'working' });
    const result = send(client, 'tasks/result', { taskId: created.taskId });
    writeFileSync(join(workspace.home, 'go'), '');
    expect(await result).toMatchObject({
      content: [{ text: 'slow\n' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: created.taskId } },
    });
    const listed = (await send(client, 'tasks/list', {})) as unknown as { tasks: TaskFields[] };
    expect(listed.tasks).toMatchObject([{ taskId: created.taskId, status: 'completed' }]);
    const { task: failing } = await start(client, 'absent', task);
    await until(async () => (await get(client, failing)).status === 'failed', 'an unknown tool fails');
    await expect(send(client, 'tasks/result', { taskId: failing.taskId })).rejects.toMatchObject({ code: -32602 });
  });

  spec('SRV-70', 'is cancelled, and expires', async () => {
    const workspace = createSlow();
    const client = await connect(workspace, 'older');
    const { task: created } = await start(client, 'forever', task);
    expect(await send(client, 'tasks/cancel', { taskId: created.taskId })).toMatchObject({ status: 'cancelled' });
    await expect(send(client, 'tasks/cancel', { taskId: created.taskId })).rejects.toMatchObject({ code: -32602 });
    const { task: short } = await start(client, 'forever', { task: { ttl: 1 } });
    expect(short.ttl).toBe(1000);
    await until(
      () =>
        get(client, short).then(
          () => false,
          () => true,
        ),
      'it expires',
    );
    await expect(get(client, short)).rejects.toMatchObject({ code: -32602 });
    for (let count = 0; count < 63; count++) await start(client, 'forever', task);
    await expect(start(client, 'forever', task).then(() => start(client, 'forever', task))).rejects.toMatchObject({
      message: expect.stringContaining('too many tasks'),
    });
  });

  spec.thorough('SRV-70', 'asks for approval while its result is fetched', async () => {
    const workspace = createSlow();
    const client = await connect(workspace, 'older', { elicitation: { form: {} } });
    let related: unknown;
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      related = params._meta;
      return ACCEPT;
    });
    const { task: created } = await start(client, 'careful', task);
    await until(async () => (await get(client, created)).status === 'input_required', 'it asks');
    const result = await send(client, 'tasks/result', { taskId: created.taskId });
    expect(result.content).toMatchObject([{ text: 'done\n' }]);
    expect(related).toMatchObject({ 'io.modelcontextprotocol/related-task': { taskId: created.taskId } });
  });

  spec('SRV-70', 'belongs to its session', async () => {
    const workspace = createSlow();
    const url = await serveUrl(workspace, ['--trust']);
    const [first, second] = [await connectUrl(url, 'older'), await connectUrl(url, 'older')];
    const { task: created } = await start(first, 'forever', task);
    expect(await get(first, created)).toMatchObject({ status: 'working' });
    for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel'])
      await expect(send(second, method, { taskId: created.taskId })).rejects.toMatchObject({ code: -32602 });
    expect(await send(second, 'tasks/list', {})).toMatchObject({ tasks: [] });
    const pid = (): string => readFileSync(join(workspace.home, 'pid'), 'utf8').trim();
    await until(() => existsSync(join(workspace.home, 'pid')) && existsSync(`/proc/${pid()}`), 'it runs');
    // Nobody can ask for it any more.
    await (first.transport as StreamableHTTPClientTransport).terminateSession();
    await until(() => !existsSync(`/proc/${pid()}`), 'it ends with its session');
  });
});

for (const version of ['older', 'newer'] as const)
  describe.concurrent(`a call that waits for approval elsewhere, in the ${version} version`, () => {
    const more = version === 'older' ? { task: {} } : {};
    spec.thorough('SRV-70 POL-6', 'lives while it waits, and goes on when a person approves it', async () => {
      const workspace = createSlow();
      const client = await connect(workspace, version, version === 'older' ? {} : TASKS);
      const started = await start(client, 'patient', more);
      const task = version === 'older' ? started.task : started;
      await until(async () => (await get(client, task)).statusMessage !== undefined, 'it waits');
      const { statusMessage = '', ttl, ttlMs = ttl } = await get(client, task);
      // As long as a person may take.
      expect(ttlMs).toBeGreaterThan(7 * 24 * 3_600_000);
      expect(existsSync(join(workspace.home, 'ran'))).toBe(false);
      const id = /approve (\S+)$/.exec(statusMessage)![1]!;
      const approved = await wield(workspace, ['approvals', 'approve', id]);
      expect(approved.status, approved.stderr).toBe(0);
      await until(() => existsSync(join(workspace.home, 'ran')), 'it goes on');
      const running = await get(client, task);
      expect([running.status, running.statusMessage]).toEqual(['working', undefined]);
      writeFileSync(join(workspace.home, 'go'), '');
      await until(async () => (await get(client, task)).status === 'completed', 'it ends');
    });

    spec('SRV-70 POL-6', 'fails when a person denies it', async () => {
      const workspace = createSlow();
      const client = await connect(workspace, version, version === 'older' ? {} : TASKS);
      const started = await start(client, 'careful', more);
      const task = version === 'older' ? started.task : started;
      await until(async () => (await get(client, task)).statusMessage !== undefined, 'it waits');
      const id = /approve (\S+)$/.exec((await get(client, task)).statusMessage!)![1]!;
      await wield(workspace, ['approvals', 'deny', id]);
      await until(async () => (await get(client, task)).status === 'completed', 'it ends');
      expect(existsSync(join(workspace.home, 'ran'))).toBe(false);
    });
  });

spec('SRV-70 IDN-9', 'a task that waits for an approver names the server that is asked', async () => {
  const workspace = createSlow();
  workspace.config('[approvals]\napprovers = ["group:ops"]\n');
  const client = await connect(workspace, 'newer', TASKS);
  const task = await start(client, 'careful', {});
  await until(async () => (await get(client, task)).statusMessage !== undefined, 'it waits');
  expect((await get(client, task)).statusMessage).toMatch(/: wield approvals approve \w+ --server URL$/);
});

describe.concurrent('a program that waits for approvals in a task', () => {
  // Counts what ran, and is approved in two steps.
  const code = `const ran = [await tools.note({ text: 'begun' })];
for (const text of ['a', 'b']) ran.push(...(await Promise.all([tools.publish({ text }), tools.publish({ text: text + text })])));
return ran;`;

  function createNoting(): Workspace {
    const workspace = createWorkspace();
    const body = `echo "$WIELD_PARAM_TEXT" >> ${join(workspace.home, 'ran')}; printf %s "$WIELD_PARAM_TEXT"`;
    workspace.script('note', shellScript(body, '@param *text string Text'));
    workspace.script('publish', shellScript(body, '@param *text string Text', '@destructive'));
    return workspace;
  }
  const ranIn = ({ home }: Workspace): string[] => readFileSync(join(home, 'ran'), 'utf8').trim().split('\n').sort();

  spec.thorough(
    'COD-10 COD-11 COD-13 SRV-70',
    'goes on by itself when they are given, and runs no call twice',
    async () => {
      const workspace = createNoting();
      const client = await connect(workspace, 'newer', TASKS, ['--mode', 'code']);
      const task = await start(client, 'run_code', { arguments: { code } });
      expect(task).toMatchObject({ resultType: 'task', status: 'working' });
      const approved = new Set<string>();
      const waits = async (): Promise<string> => {
        const { statusMessage = '' } = await get(client, task);
        return /approve (\w+ --all-like-this)$/.exec(statusMessage)?.[1] ?? '';
      };
      for (const expected of [['begun'], ['a', 'aa', 'begun']]) {
        let words = '';
        await until(async () => {
          words = await waits();
          return words !== '' && !approved.has(words);
        }, 'it waits');
        expect(ranIn(workspace)).toEqual(expected);
        approved.add(words);
        const { status, stderr } = await wield(workspace, ['approvals', 'approve', ...words.split(' ')]);
        expect(status, stderr).toBe(0);
      }
      await until(async () => (await get(client, task)).status === 'completed', 'it ends');
      expect((await get(client, task)).result).toMatchObject({
        content: [{ text: JSON.stringify(['begun', 'a', 'aa', 'b', 'bb']) }],
      });
      expect(ranIn(workspace)).toEqual(['a', 'aa', 'b', 'bb', 'begun']);
    },
  );

  spec.thorough('COD-10 SRV-70', 'can be resumed after its server ended', async () => {
    const workspace = createNoting();
    const first = await connect(workspace, 'older', {}, ['--mode', 'code']);
    const program = { arguments: { code: `await tools.note({ text: 'begun' }); return tools.publish({ text: 'a' })` } };
    const { task } = await start(first, 'run_code', { ...program, task: {} });
    await until(async () => (await get(first, task)).statusMessage !== undefined, 'it waits');
    const id = /approve (\S+)$/.exec((await get(first, task)).statusMessage!)![1]!;
    await first.close();
    expect(await wield(workspace, ['approvals', 'approve', id])).toMatchObject({ status: 0 });
    const second = await connect(workspace, 'older', {}, ['--mode', 'code']);
    expect(await start(second, 'run_code', program)).toMatchObject({ content: [{ text: 'a' }] });
    expect(ranIn(workspace)).toEqual(['a', 'begun']);
  });
});

describe.concurrent('a task of the newer protocol version', () => {
  spec.thorough('SRV-70', 'is made of a call that takes long, if the client has the extension', async () => {
    const workspace = createSlow();
    const client = await connect(workspace, 'newer', TASKS);
    expect(client.getServerCapabilities()).toMatchObject(TASKS);
    expect(await start(client, 'quick')).toMatchObject({ content: [{ text: 'quick\n' }] });
    const task = await start(client, 'slow');
    expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: 3_600_000, pollIntervalMs: 1000 });
    expect(await get(client, task)).toMatchObject({ status: 'working' });
    writeFileSync(join(workspace.home, 'go'), '');
    await until(async () => (await get(client, task)).status === 'completed', 'it ends');
    expect((await get(client, task)).result).toMatchObject({ content: [{ text: 'slow\n' }] });
    // There are no sessions, so these would show what other clients do.
    for (const method of ['tasks/list', 'tasks/result'])
      await expect(send(client, method, { taskId: task.taskId })).rejects.toMatchObject({ code: -32601 });
    const other = await start(client, 'forever');
    await send(client, 'tasks/cancel', { taskId: other.taskId });
    expect(await get(client, other)).toMatchObject({ status: 'cancelled' });
    await expect(get(client, { taskId: 'absent', status: '' })).rejects.toMatchObject({ code: -32602 });
    const without = await connect(workspace, 'newer');
    await expect(get(without, task)).rejects.toMatchObject({ code: -32021 });
  });

  spec.thorough('SRV-70', 'asks in tasks/get what it asks later, and is answered by tasks/update', async () => {
    const workspace = createModuleWorkspace();
    const go = join(workspace.home, 'go');
    const wait = `while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));`;
    const execute = `async (input, { elicit }) => {
      ${wait}
      const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };
      const { content } = await elicit({ message: 'Who?', schema });
      return 'Hello, ' + content.name + '!';
    }`;
    workspace.module('later.tool.mjs', moduleText('later', execute, "import { existsSync } from 'node:fs';"));
    const client = await connect(workspace, 'newer', { ...TASKS, elicitation: { form: {} } });
    const task = await start(client, 'later');
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    writeFileSync(go, '');
    await until(async () => (await get(client, task)).status === 'input_required', 'it asks');
    const { inputRequests = {} } = await get(client, task);
    const [[key, request]] = Object.entries(inputRequests) as [[string, { params: { message: string } }]];
    expect(request.params.message).toContain('Who?');
    const { taskId } = task;
    const answer = { action: 'accept', content: { name: 'Ada' } };
    await send(client, 'tasks/update', { taskId, inputResponses: { other: answer } });
    expect(await get(client, task)).toMatchObject({ status: 'input_required' });
    await send(client, 'tasks/update', { taskId, inputResponses: { [key]: answer } });
    await until(async () => (await get(client, task)).status === 'completed', 'it goes on');
    expect((await get(client, task)).result).toMatchObject({ content: [{ text: 'Hello, Ada!' }] });
  });
});

describe('a tool that can only be called as a task', () => {
  spec('SRV-83', 'is refused to clients that do not know tasks', async () => {
    const workspace = createModuleWorkspace();
    const text = moduleText('long', "() => 'done'").replace('execute:', 'taskOnly: true, execute:');
    workspace.module('long.tool.mjs', text);
    const unable = await connect(workspace, 'newer');
    await expect(start(unable, 'long')).rejects.toMatchObject({
      code: -32021,
      data: { requiredCapabilities: TASKS },
    });
    const older = await connect(workspace, 'older');
    const { tools } = await older.listTools();
    expect(tools.find(({ name }) => name === 'long')).toMatchObject({ execution: { taskSupport: 'required' } });
    await expect(start(older, 'long')).rejects.toMatchObject({ code: -32601 });
    const { task } = await start(older, 'long', { task: {} });
    expect(await send(older, 'tasks/result', { taskId: task.taskId })).toMatchObject({ content: [{ text: 'done' }] });
    // Its host runs now, so that it ends at once.
    const able = await connect(workspace, 'newer', TASKS);
    await start(able, 'long');
    expect(await start(able, 'long')).toMatchObject({ content: [{ text: 'done' }] });
  });
});

describe('a call that asks within two seconds', () => {
  spec('SRV-70 SRV-6', 'asks in its result, and becomes a task with the answer', async () => {
    const workspace = createSlow();
    const client = await connect(workspace, 'newer', { ...TASKS, elicitation: { form: {} } });
    // Loads what a call needs, which must not take the time that makes it a task.
    await start(client, 'quick');
    const asked = await start(client, 'patient');
    expect(asked).toMatchObject({ resultType: 'input_required' });
    expect(asked).not.toHaveProperty('taskId');
    const [[key, request]] = Object.entries(asked.inputRequests!) as [[string, { params: { message: string } }]];
    expect(request.params.message).toContain('wield needs your approval to run patient.');
    expect(existsSync(join(workspace.home, 'ran'))).toBe(false);
    const { requestState } = asked as { requestState?: string };
    const task = await start(client, 'patient', { requestState, inputResponses: { [key]: ACCEPT } });
    expect(task).toMatchObject({ resultType: 'task', status: 'working' });
    expect(task).not.toHaveProperty('requestState');
    writeFileSync(join(workspace.home, 'go'), '');
    await until(async () => (await get(client, task)).status === 'completed', 'it ends');
    expect((await get(client, task)).result).toMatchObject({ content: [{ text: 'done\n' }] });
  });
});
