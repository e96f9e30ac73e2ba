import { describe, expect } from 'vitest';
import { textOf } from '../../../src/core/result.js';
import type { ContextStore } from '../../../src/core/store.js';
import { defineTool } from '../../../src/index.js';
import { json, wield } from '../../support/cli.js';
import { connectOlderSdk, connectStdio, connectUrl } from '../../support/clients.js';
import { serveHttp } from '../../support/server.js';
import { spec } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

interface Caller {
  callTool(params: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
}

function createPrinter(): Workspace {
  const workspace = createWorkspace();
  workspace.script('numbers', '#!/bin/sh\n# @description Counts.\nseq 1 20000\n');
  return workspace;
}

const callText = async (client: Caller, name: string, input: Record<string, unknown>): Promise<string> => {
  const result = (await client.callTool({ name, arguments: input })) as {
    content: { type: 'text'; text: string }[];
  };
  return result.content.map(({ text }) => text).join('');
};

const handleOf = async (client: Caller): Promise<string> =>
  /stored as (r_\S+)\./.exec(await callText(client, 'numbers', {}))![1]!;

describe('handles', () => {
  spec('CTX-3 CTX-1 SRV-14', 'A59: can be read only on the stdio connection that created them', async () => {
    const workspace = createPrinter();
    const clients: Caller[] = [
      await connectStdio(workspace, 'older'),
      await connectStdio(workspace, 'newer'),
      await connectOlderSdk(workspace),
    ];
    for (const [at, client] of clients.entries()) {
      const id = await handleOf(client);
      expect(await callText(client, 'read_result', { id, lines: '19999-20000' })).toBe('19999\n20000\n');
      const other = clients[(at + 1) % clients.length]!;
      expect(await callText(other, 'read_result', { id, page: 1 })).toContain('not_found');
      // A guessed id gets the same error.
      const guess = await callText(other, 'read_result', { id: 'r_AAAAAAAAAAAAAAAAAAAAAA', page: 1 });
      expect(guess.replace('r_AAAAAAAAAAAAAAAAAAAAAA', id)).toBe(await callText(other, 'read_result', { id, page: 1 }));
      // It is unknown on the command line too.
      const shell = await wield(workspace, ['call', 'read_result', '--id', id]);
      expect(shell.status).toBe(3);
    }
  });

  spec(
    'CTX-3',
    'A59: belong to the HTTP session in the older protocol version, to the principal in the newer',
    async () => {
      const { url } = await serveHttp(createPrinter());
      const first = await connectUrl(url, 'older');
      const second = await connectUrl(url, 'older');
      const id = await handleOf(first);
      expect(await callText(first, 'read_result', { id, lines: '5' })).toBe('5\n');
      expect(await callText(second, 'read_result', { id, lines: '5' })).toContain('not_found');
      const newer = await connectUrl(url, 'newer');
      const again = await connectUrl(url, 'newer');
      const own = await handleOf(newer);
      expect(await callText(again, 'read_result', { id: own, lines: '6' })).toBe('6\n');
      expect(await callText(newer, 'read_result', { id, lines: '5' })).toContain('not_found');
      expect(await callText(first, 'read_result', { id: own, lines: '5' })).toContain('not_found');
    },
  );

  spec('OBS-6', 'are recorded in the audit log', async () => {
    const workspace = createPrinter();
    const { meta } = await workspace.toolbox().call('numbers', {});
    await workspace.toolbox().call('numbers', {}, { full: true });
    const { records } = json(await wield(workspace, ['audit', '--json']));
    expect(records.map(({ handle }: { handle: string | null }) => handle)).toEqual([meta.handle!.id, null]);
  });
});

describe('the store of a tool context', () => {
  const keep: ContextStore[] = [];
  const note = defineTool({
    name: 'note',
    description: 'Keeps a note.',
    inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
    execute: async ({ text }: { text: string }, context) => {
      keep.push(context.store!);
      await context.store!.documents.write('note', text, { overwrite: true });
      return context.withStore(async (store) => (await store.documents.list()).map(({ path }) => path));
    },
  });

  spec('MOD-6', 'cannot be used after the call', async () => {
    const toolbox = createWorkspace().toolbox({ tools: [note] });
    expect((await toolbox.call('note', { text: 'one' })).structured).toEqual(['note']);
    expect(() => keep[0]!.documents.list()).toThrow(expect.objectContaining({ code: 'usage' }));
    expect(() => keep[0]!.openResult('r_AAAAAAAAAAAAAAAAAAAAAA')).toThrow('after its call had ended');
  });

  spec('MOD-6', 'does not block other processes while the tool sleeps', async () => {
    const workspace = createWorkspace();
    let wake = (): void => {};
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const sleeper = defineTool({
      name: 'sleeper',
      description: 'Holds the store and sleeps.',
      execute: async (_input, { withStore }) =>
        withStore(async (store) => {
          await store.documents.write('mine', 'first');
          await asleep;
          return (await store.documents.list()).map(({ path }) => path);
        }),
    });
    const sleeping = workspace.toolbox({ tools: [sleeper] }).call('sleeper', {});
    const other = await wield(workspace, ['call', 'context_write', '--path', 'other', '--content', 'x']);
    expect([other.status, other.stderr]).toEqual([0, '']);
    wake();
    expect((await sleeping).structured).toEqual(['mine', 'other']);
  });

  spec.thorough('MOD-6 MOD-5', 'is available in the tool host', async () => {
    const workspace = createWorkspace();
    workspace.write(
      '.agents/tools/keep.tool.ts',
      `import { defineTool } from 'wield';
      let kept: any;
      export const keep = defineTool({
        name: 'keep',
        description: 'Keeps a text.',
        inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
        execute: async (input: any, { store }: any) => {
          const late = await Promise.resolve().then(() => kept?.documents.list()).catch((e: any) => e.code);
          kept = store;
          await store.documents.write('kept', input.text, { overwrite: true });
          const { content, version } = await store.documents.read('kept');
          const missing = await store.documents.read('nothing').catch((error: any) => error.code);
          return { text: new TextDecoder().decode(content), version, missing, late: late ?? null };
        },
      });`,
    );
    const toolbox = workspace.toolbox({ trust: true });
    const first = await toolbox.call('keep', { text: 'one €' });
    expect(first.error, textOf(first)).toBeUndefined();
    expect(first.structured).toEqual({ text: 'one €', version: 1, missing: 'not_found', late: null });
    expect((await toolbox.call('keep', { text: 'two' })).structured).toMatchObject({
      version: 2,
      late: 'usage',
    });
  });
});
