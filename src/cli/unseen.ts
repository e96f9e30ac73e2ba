// Why a model does not find a tool that a person finds.

import type { Caller, Verdict } from '../core/caller.js';
import { isToolError } from '../core/error.js';
import type { Tool } from '../core/tool.js';
import type { NodeToolbox } from '../node.js';
import { newNameOf } from '../policy/view.js';

/** Returns the verdict on a tool that a model did not find; undefined for any other caller or error. */
export function judgeUnseen(tool: Tool, { kind }: Caller, error: unknown, { state }: NodeToolbox): Verdict | undefined {
  if (kind !== 'model' || !isToolError(error) || error.code !== 'not_found') return undefined;
  const name = newNameOf(tool, state.snapshot().settings.view);
  const reason = tool.traits.hidden
    ? 'models do not find it: it is hidden'
    : name !== undefined
      ? `models know it as ${name}`
      : tool.origin.builtin
        ? 'models do not find it: it is not offered'
        : 'models do not find it';
  return { verdict: 'deny', rule: null, reason, code: error.code };
}
