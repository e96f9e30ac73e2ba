// The shared test suite of executors: planning, running, failing and stopping.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { describePlan, textOf } from '../../src/index.js';
import type { NodeToolbox } from '../../src/node.js';
import { patience } from '../support/patience.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

/** What the tool named `subject` does in one of the tests. */
export interface Subject {
  readonly description: string;
  /**
   * `echo`: leaves a file `ran` in the workdir and gives back its parameter `text`. `wait`: takes a minute.
   * `deaf`: takes a minute and minds no signal. `fail`: says "half" and fails.
   */
  readonly behaviour: 'echo' | 'wait' | 'deaf' | 'fail';
  /** The type of the parameter `text`, which is required. */
  readonly type: 'string' | 'array';
}

export interface ExecutorUnderTest {
  readonly kind: string;
  /** A toolbox with the subject in it. */
  open(workspace: Workspace, subject: Subject): NodeToolbox;
}

const ECHO: Subject = { description: 'A subject.', behaviour: 'echo', type: 'string' };
const PATIENCE_MS = 20_000;

/** Proves that an executor keeps the contract of `core/executor.ts`. */
export function describeExecutor({ kind, open }: ExecutorUnderTest): void {
  const start = (subject: Partial<Subject> = {}) => {
    const workspace = createWorkspace();
    return { workspace, toolbox: open(workspace, { ...ECHO, ...subject }) };
  };
  const digestOf = async (subject: Partial<Subject> = {}): Promise<string> =>
    (await start(subject).toolbox.find('subject')).origin.digest!;

  describe(`the ${kind} executor`, () => {
    spec('RUN-2', 'returns a deeply frozen plan and runs nothing', async () => {
      const { workspace, toolbox } = start();
      const { plan } = await toolbox.plan('subject', { text: 'hi' });
      expect(plan).toMatchObject({ kind, input: { text: 'hi' }, timeoutMs: expect.any(Number) });
      const shown = describePlan(plan);
      expect(JSON.parse(JSON.stringify(shown))).toEqual(shown);
      for (const part of [plan, plan.input, plan.tool, plan.tool.action, plan.tool.origin, plan.tool.input.json]) {
        expect(Object.isFrozen(part)).toBe(true);
      }
      expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    });

    spec('RUN-1 TOOL-20', 'runs a plan and returns its output', async () => {
      const { workspace, toolbox } = start();
      const result = await toolbox.call('subject', { text: 'héllo\n✓' });
      expect(result.ok).toBe(true);
      expect(textOf(result)).toBe('héllo\n✓');
      expect(existsSync(join(workspace.dir, 'ran'))).toBe(true);
    });

    for (const behaviour of ['wait', 'deaf'] as const) {
      spec('RUN-6', `cancels a tool that ${behaviour === 'wait' ? 'waits' : 'ignores signals'}`, async () => {
        const { toolbox } = start({ behaviour });
        const controller = new AbortController();
        const began = performance.now();
        setTimeout(() => controller.abort(), 300);
        const result = await toolbox.call('subject', { text: 'x' }, { signal: controller.signal });
        expect(result).toMatchObject({ ok: false, error: { code: 'cancelled' } });
        expect(performance.now() - began).toBeLessThan(patience(PATIENCE_MS));
      });

      spec(
        'EXE-5',
        `stops a tool that ${behaviour === 'wait' ? 'waits' : 'ignores signals'} at its time limit`,
        async () => {
          const { toolbox } = start({ behaviour });
          const began = performance.now();
          const result = await toolbox.call('subject', { text: 'x' }, { timeoutMs: 300 });
          expect(result).toMatchObject({ ok: false, error: { code: 'timeout', data: { timeoutMs: 300 } } });
          expect(performance.now() - began).toBeLessThan(2 * PATIENCE_MS);
        },
      );
    }

    spec('RUN-6', 'does not start a call that is already cancelled', async () => {
      const { workspace, toolbox } = start();
      const result = await toolbox.call('subject', { text: 'x' }, { signal: AbortSignal.abort() });
      expect(result.error?.code).toBe('cancelled');
      expect(existsSync(join(workspace.dir, 'ran'))).toBe(false);
    });

    spec('SCR-13 TOOL-20', 'returns tool_failed with output and hint for a tool that fails', async () => {
      const { toolbox } = start({ behaviour: 'fail' });
      const result = await toolbox.call('subject', { text: 'x' });
      expect(result).toMatchObject({ ok: false, error: { code: 'tool_failed' } });
      expect(result.error?.message).toContain('subject');
      expect(result.error?.hint).toBeTruthy();
      expect(textOf(result)).toContain('half');
    });

    spec('TOOL-6 TOOL-7', 'computes a digest that depends on the definition, not on place and time', async () => {
      const first = await digestOf();
      expect(first).toMatch(/^[0-9a-f]{64}$/);
      expect(await digestOf()).toBe(first);
      const others = [
        await digestOf({ description: 'Another subject.' }),
        await digestOf({ type: 'array' }),
        await digestOf({ behaviour: 'fail' }),
      ];
      expect(new Set([first, ...others]).size).toBe(4);
    });
  });
}
