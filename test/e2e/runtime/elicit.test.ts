// A tool's question reaches the person behind a program, and only an answer that fits reaches the tool.

import { describe, expect, vi } from 'vitest';
import { runAnthropicCall } from '../../../src/adapters/anthropic/index.js';
import type { Elicit, Elicitation, Question } from '../../../src/core/elicit.js';
import { textOf } from '../../../src/core/result.js';
import type { CallOptions, Toolbox } from '../../../src/core/toolbox.js';
import { createTestContext, createTestToolbox, expectError, expectOk } from '../../../src/testing.js';
import { createQuestionWorkspace, FILLED, FORM, TYPED } from '../../support/questions.js';
import { spec } from '../../support/spec.js';

const PLACES: Readonly<Record<string, () => Toolbox>> = {
  'in process': () => createTestToolbox(TYPED),
  'in the tool host': () => createQuestionWorkspace().toolbox(),
};

for (const [place, open] of Object.entries(PLACES)) {
  describe(`a tool ${place}`, () => {
    spec('MOD-18', 'asks through the call’s elicit, which is told who asks', async () => {
      const toolbox = open();
      const asked: Question[] = [];
      const elicit: Elicit<Question> = async (question) => {
        asked.push(question);
        return { action: 'accept', content: asked.length === 1 ? { answer: 'Ada' } : FILLED };
      };
      expect(textOf(await toolbox.call('name', {}, { elicit }))).toBe('heard Ada');
      expect((await toolbox.call('order', {}, { elicit })).structured).toEqual({
        action: 'accept',
        content: FILLED,
      });
      expect(asked.map(({ tool, message }) => [tool, message])).toEqual([
        ['name', 'Whose name?'],
        ['order', 'What shall it be?'],
      ]);
      expect(asked[1]!.schema).toEqual(FORM);
    });

    spec('MOD-18', 'hears decline and cancel, and no content with them', async () => {
      const toolbox = open();
      for (const action of ['decline', 'cancel'] as const) {
        const elicit: Elicit = async () => ({ action, content: FILLED });
        expect((await toolbox.call('order', {}, { elicit })).structured).toEqual({ action });
        expect(textOf(await toolbox.call('name', {}, { elicit }))).toBe('heard null');
      }
    });

    spec.thorough('MOD-18', 'never sees an answer that does not fit the form', async () => {
      const toolbox = open();
      const wrong: unknown[] = [
        { ...FILLED, pieces: 10 },
        { ...FILLED, pieces: '3' },
        { ...FILLED, size: 'small' },
        { ...FILLED, extras: ['bow'] },
        { ...FILLED, unasked: 'for' },
        { size: 's', gift: false },
        { ...FILLED, note: { deep: [[[[[[1]]]]]] } },
        'text',
        undefined,
      ];
      for (const content of wrong) {
        const elicit = async () => ({ action: 'accept', content }) as never;
        expect((await toolbox.call('order', {}, { elicit })).structured).toEqual({ action: 'cancel' });
      }
    });

    spec.thorough('MOD-18', 'gets unavailable where nobody can be asked, or not with a form', async () => {
      const toolbox = open();
      expectError(await toolbox.call('name', {}), 'unavailable');
      expectError(await toolbox.call('order', {}), 'unavailable');
      const ask = async (question: string) => `text for ${question}`;
      expect(textOf(await toolbox.call('name', {}, { ask }))).toBe('heard text for Whose name?');
      expectError(await toolbox.call('order', {}, { ask }), 'unavailable');
      expect(textOf(await toolbox.call('name', {}, { ask: async () => null }))).toBe('heard null');
    });

    spec('MOD-18', 'goes on where a door fails, and ends where the call is cancelled', async () => {
      const toolbox = open();
      const failing = () => Promise.reject(new Error('no window'));
      expect((await toolbox.call('order', {}, { elicit: failing })).structured).toEqual({ action: 'cancel' });
      const controller = new AbortController();
      let withdrawn = false;
      const elicit: Elicit = (_request, signal) => {
        signal.addEventListener('abort', () => {
          withdrawn = true;
        });
        queueMicrotask(() => controller.abort());
        return new Promise(() => {});
      };
      const options: CallOptions = { elicit, signal: controller.signal };
      expectError(await toolbox.call('name', {}, options), 'cancelled');
      await vi.waitFor(() => expect(withdrawn).toBe(true), 60_000);
    });
  });
}

describe('what is asked', () => {
  const askWith = async (request: unknown, asked: Question[] = []) => {
    const toolbox = createTestToolbox([
      {
        name: 'asks',
        description: 'D',
        inputSchema: { type: 'object', properties: {} },
        execute: async (_input, { elicit }) => elicit(request as Elicitation),
      },
    ]);
    const elicit: Elicit<Question> = async (question) => {
      asked.push(question);
      return { action: 'accept' };
    };
    return toolbox.call('asks', {}, { elicit });
  };

  spec('MOD-18', 'holds nothing that moves a cursor, and has an end', async () => {
    const asked: Question[] = [];
    const field = { type: 'string', title: 'T\u001b[2J\u202e', description: `d${'x'.repeat(900)}\nline` };
    const schema = { type: 'object', properties: { field }, $comment: 'dropped' };
    await askWith({ message: `\u001b[31mred\u200b\u0007${'y'.repeat(9000)}`, schema }, asked);
    const { message, schema: shown } = asked[0]!;
    expect(message).toMatch(/^redy+ …$/);
    expect(message.length).toBeLessThan(4100);
    const { title, description } = (shown!.properties as { field: Record<string, string> }).field;
    expect(title).toBe('T');
    expect(description).toHaveLength(200);
    expect(Object.keys(shown!).sort()).toEqual(['properties', 'type']);
  });

  spec('MOD-18', 'is a flat form or an address of the web, and nothing else', async () => {
    const flat = (field: unknown) => ({ message: 'm', schema: { type: 'object', properties: { field } } });
    for (const request of [
      flat({ type: 'object', properties: {} }),
      flat({ type: 'array', items: { type: 'object' } }),
      flat({ type: 'string', enum: ['a\u202eb'] }),
      flat({ type: 'string', enum: [1] }),
      flat('text'),
      { message: 'm', schema: { type: 'string' } },
      { message: 'm', schema: { type: 'object', properties: { 'a\nb': { type: 'string' } } } },
      { message: 'm', url: 'file:///etc/passwd' },
      { message: 'm', url: 'javascript:alert(1)' },
      { message: 'm', url: `https://example.org/${'x'.repeat(3000)}` },
    ]) {
      const asked: Question[] = [];
      expectError(await askWith(request, asked), 'invalid_definition');
      expect(asked).toEqual([]);
    }
    const asked: Question[] = [];
    expectOk(await askWith({ message: 'm', url: 'https://example.org/in' }, asked));
    expect(asked[0]).toMatchObject({ tool: 'asks', url: 'https://example.org/in' });
  });

  spec('POL-34', 'cannot look like a question of wield', async () => {
    const flat = (name: string, field: object) => ({
      message: 'm',
      schema: { type: 'object', properties: { [name]: field } },
    });
    const text = { type: 'string' };
    for (const request of [
      ...['wield', 'Wield_decision', ' wield: x', 'ｗｉｅｌｄ', 'w-i.e l d'].map((name) => flat(name, text)),
      ...['run it once', 'Run it once!', 'wield: yes'].map((choice) => flat('decision', { ...text, enum: [choice] })),
      flat('decision', { ...text, oneOf: [{ const: 'run it once', title: 'x' }] }),
      flat('decision', { type: 'array', items: { ...text, enum: ['run it once'] } }),
    ]) {
      const asked: Question[] = [];
      expectError(await askWith(request, asked), 'invalid_definition');
      expect(asked).toEqual([]);
    }
    const asked: Question[] = [];
    const titled = { oneOf: [{ const: 'a', title: 'Run it once' }] };
    await askWith(flat('decision', { ...text, title: 'wield: your decision', ...titled }), asked);
    expect(asked[0]!.schema!.properties).toEqual({ decision: { type: 'string', oneOf: [{ const: 'a', title: 'a' }] } });
  });

  spec('MOD-18', 'stays open ten minutes, which are not of the tool’s time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      const minutes = (count: number) => vi.advanceTimersByTimeAsync(count * 60_000);
      let asked = 0;
      let answer: (text: string) => void = () => {};
      const toolbox = createTestToolbox([
        ...TYPED,
        {
          name: 'outer',
          description: 'Calls it.',
          inputSchema: { type: 'object', properties: {} },
          execute: async (_input, context) => textOf(await context.toolbox.call('name', {})),
        },
      ]);
      const ask = () =>
        new Promise<string>((resolve) => {
          asked++;
          answer = resolve;
        });
      const late = toolbox.call('outer', {}, { ask, timeoutMs: 60_000 });
      await vi.waitFor(() => expect(asked).toBe(1), 60_000);
      await minutes(9);
      answer('Ada');
      expect(textOf(await late)).toBe('heard Ada');
      const never = toolbox.call('name', {}, { ask, timeoutMs: 60_000 });
      await vi.waitFor(() => expect(asked).toBe(2), 60_000);
      await minutes(11);
      expect(textOf(await never)).toBe('heard null');
    } finally {
      vi.useRealTimers();
    }
  });

  spec('MOD-18 RUN-7', 'comes from a tool that another calls, through the outer call’s door', async () => {
    const toolbox = createQuestionWorkspace().toolbox();
    const asked: string[] = [];
    const elicit: Elicit<Question> = async ({ tool }) => {
      asked.push(tool);
      return { action: 'accept', content: { answer: 'Ada' } };
    };
    expect(textOf(await toolbox.call('outer', {}, { elicit }))).toBe('heard Ada');
    expect(asked).toEqual(['name']);
  });

  spec('MOD-18', 'is answered by the program’s person where a model calls', async () => {
    const elicit: Elicit<Question> = async ({ tool }) => ({
      action: 'accept',
      content: { answer: `a person asked by ${tool}` },
    });
    const block = { type: 'tool_use', id: '1', name: 'name', input: {} } as const;
    const { content } = await runAnthropicCall(createTestToolbox(TYPED), block, { elicit });
    expect(JSON.stringify(content)).toContain('heard a person asked by name');
  });

  spec('MOD-18 MOD-11', 'is answered by fakes in a test', async () => {
    const elicit: Elicit = async ({ schema }) => ({ action: 'accept', content: schema ? FILLED : {} });
    const toolbox = createTestToolbox(TYPED, { fakes: { elicit } });
    expect(expectOk(await toolbox.call('order', {})).structured).toMatchObject({ content: FILLED });
    const context = createTestContext({ elicit });
    expect(await context.elicit({ message: 'm', schema: FORM as never })).toMatchObject({ content: FILLED });
  });
});
