// The delegate executor: calls another tool instead, as a nested call with its own policy decision.

import { ToolError } from '../../core/error.js';
import type { CallScope, Executor } from '../../core/executor.js';
import { canonicalJson, copyJson } from '../../core/json.js';
import type { DelegatePlan } from '../../core/plan.js';
import type { Output } from '../../core/result.js';
import { timedOut } from '../../core/time-limit.js';
import { actionOf } from '../../core/tool.js';
import { anchorRef } from '../../files/anchor.js';

/** Options of `createDelegateExecutor`. */
export interface DelegateExecutorOptions {
  /** Returns the SHA-256 of parts. */
  readonly digest: (parts: readonly string[]) => string;
}

/** Creates the executor of tools that call another tool. */
export function createDelegateExecutor({ digest }: DelegateExecutorOptions): Executor<'delegate'> {
  return {
    kind: 'delegate',
    // Covers only the definition; the digest of the other tool is checked by its own call.
    digest: (tool) =>
      digest([
        tool.origin.format,
        tool.name,
        tool.description,
        canonicalJson(tool.input.json),
        actionOf(tool, 'delegate').ref,
      ]),
    plan: async (tool, input, { timeoutMs }) => ({
      kind: 'delegate',
      tool,
      input,
      timeoutMs,
      ref: anchorRef(actionOf(tool, 'delegate').ref, tool.origin.directory),
    }),
    run: callOther,
  };
}

async function callOther(plan: DelegatePlan, scope: CallScope): Promise<Output> {
  const { tool, timeoutMs } = plan;
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    scope.controller.abort();
  }, timeoutMs);
  try {
    const { content, structured, error, meta } = await scope.delegate(plan.ref, copyJson(plan.input));
    const { durationMs: _, repaired: __, ...rest } = meta;
    return {
      content,
      structured,
      error: error && (late ? timedOut(tool.name, timeoutMs) : new ToolError(error.code, error.message, error)),
      meta: rest,
    };
  } finally {
    clearTimeout(timer);
  }
}
