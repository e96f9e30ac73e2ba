// Questions during a call: both protocol versions, both transports, all kinds of answers.

import type { ElicitResult } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import {
  ACCEPT,
  type Answer,
  connectAsking,
  connectHttp,
  connectOlderSdk,
  connectStdio,
  type ProtocolVersion,
} from '../../support/clients.js';
import { ALL_TESTS } from '../../support/effort.js';
import { untilNoHost } from '../../support/modules.js';
import { call, codeOf, createQuestionWorkspace, FILLED, FORM, say, textOf } from '../../support/questions.js';
import { until } from '../../support/server.js';
import { spec } from '../../support/spec.js';

const isForm = (message: string): boolean => message.includes('What shall it be?');
const answerAll: Answer = (message) => (isForm(message) ? { action: 'accept', content: FILLED } : say(`<${message}>`));

for (const protocol of ['older', 'newer'] as const satisfies readonly ProtocolVersion[]) {
  for (const transport of ['stdio', 'http'] as const) {
    // Two of four combinations.
    if (!ALL_TESTS && (protocol === 'older') !== (transport === 'stdio')) continue;
    const prove = (protocol === 'newer') === (transport === 'stdio') ? spec : spec.thorough;
    describe(`${protocol} protocol version over ${transport}`, () => {
      prove('MOD-18 SRV-15', 'continues a call with each answer and starts it once', async () => {
        const workspace = createQuestionWorkspace();
        const asked: object[] = [];
        const client = await connectAsking(workspace, protocol, transport, (message, params, signal) => {
          asked.push(params);
          return answerAll(message, params, signal);
        });
        const result = await client.callTool(call('both'));
        expect(JSON.parse(textOf(result))).toEqual({
          who: '<both asks:\nFor whom?>',
          order: { action: 'accept', content: FILLED },
        });
        expect(asked).toMatchObject([
          { message: 'both asks:\nFor whom?' },
          { message: 'both asks:\nWhat shall it be?', requestedSchema: FORM },
        ]);
        expect(JSON.parse(textOf(await client.callTool(call('several'))))).toHaveLength(3);
        expect(textOf(await client.callTool(call('outer')))).toBe('heard <name asks:\nWhose name?>');
        expect(workspace.begun()).toEqual(['both', 'several', 'outer', 'name']);
      });

      prove('MOD-18 SRV-15', 'passes decline, cancel and invalid answers to the tool', async () => {
        const workspace = createQuestionWorkspace();
        const answers: ElicitResult[] = [
          { action: 'decline' },
          { action: 'cancel' },
          { action: 'accept', content: { ...FILLED, pieces: 99 } },
          { action: 'accept' },
        ];
        const left = [...answers];
        const client = await connectAsking(workspace, protocol, transport, () => left.shift()!);
        const said = [];
        for (const _ of answers) said.push(JSON.parse(textOf(await client.callTool(call('order')))).action);
        expect(said).toEqual(['decline', 'cancel', 'cancel', 'cancel']);
      });

      prove('SRV-15', 'answers twenty concurrent questions, sixteen at a time', async () => {
        const workspace = createQuestionWorkspace();
        let open = 0;
        let most = 0;
        const client = await connectAsking(workspace, protocol, transport, async (message) => {
          most = Math.max(most, ++open);
          await new Promise((resolve) => setTimeout(resolve, 400));
          open--;
          return say(/name(\d+)/.exec(message)![1]!);
        });
        const calls = Array.from({ length: 20 }, (_, what) => client.callTool(call('name', { what })));
        const heard = (await Promise.all(calls)).map(textOf);
        expect(heard).toEqual(Array.from({ length: 20 }, (_, what) => `heard ${what}`));
        expect(most).toBeLessThanOrEqual(16);
      });
    });
  }

  spec(
    'SRV-15',
    `${protocol} protocol version: a client that disconnects while asking leaves nothing behind`,
    async () => {
      const workspace = createQuestionWorkspace();
      let asked = false;
      const client = await connectAsking(workspace, protocol, 'stdio', () => {
        asked = true;
        return new Promise(() => {});
      });
      client.callTool(call('name')).catch(() => {});
      await until(() => asked, 'the question came');
      await client.close();
      await untilNoHost(workspace);
    },
  );

  const proveOnce = protocol === 'newer' ? spec : spec.thorough;
  proveOnce('MOD-18 SRV-15', `${protocol} protocol version: sends URLs only to clients that support them`, async () => {
    const workspace = createQuestionWorkspace();
    const asked: object[] = [];
    const answer: Answer = (_message, params) => {
      asked.push(params);
      return { action: 'accept' };
    };
    const takes = await connectAsking(workspace, protocol, 'stdio', answer, { form: {}, url: {} });
    expect(textOf(await takes.callTool(call('page')))).toBe('{"action":"accept"}');
    expect(asked).toMatchObject([{ mode: 'url', message: 'page asks:\nSign in.', url: 'https://example.org/in?a=1' }]);
    const other = await connectAsking(workspace, protocol, 'stdio', answer);
    expect(codeOf(await other.callTool(call('page')))).toBe('unavailable');
    const pagesOnly = await connectAsking(workspace, protocol, 'stdio', answer, { url: {} });
    expect(codeOf(await pagesOnly.callTool(call('order')))).toBe('unavailable');
    expect(asked).toHaveLength(1);
  });

  proveOnce('MOD-18', `${protocol} protocol version: the tool gets an error if the client cannot ask`, async () => {
    const workspace = createQuestionWorkspace();
    for (const client of [await connectStdio(workspace, protocol), await connectHttp(workspace, protocol)])
      expect(codeOf(await client.callTool(call('name')))).toBe('unavailable');
  });
}

spec.thorough('SRV-15 SRV-6', 'asks for approval first, then the questions, in both protocol versions', async () => {
  for (const protocol of ['older', 'newer'] as const) {
    const workspace = createQuestionWorkspace();
    workspace.config('[trust]\nrules = "both"\n');
    const asked: string[] = [];
    const client = await connectAsking(workspace, protocol, 'stdio', (message, params, signal) => {
      asked.push(message.split('\n')[0]!);
      return message.includes('your approval') ? ACCEPT : answerAll(message, params, signal);
    });
    expect(JSON.parse(textOf(await client.callTool(call('both')))).order.content).toEqual(FILLED);
    expect(asked).toEqual(['wield needs your approval to run both.', 'both asks:', 'both asks:']);
    expect(workspace.begun()).toEqual(['both']);
  }
});

spec.thorough('SRV-15', 'supports clients from before elicitation had modes', async () => {
  const client = await connectOlderSdk(createQuestionWorkspace(), ['--trust'], answerAll);
  expect(textOf(await client.callTool(call('name')))).toBe('heard <name asks:\nWhose name?>');
});
