// `call_tool` of search mode: a call of it is a call of the tool that its input names, and nothing else (SRV-9).

import { CODE } from '../core/caller.js';
import { isToolError } from '../core/error.js';
import { isRecord, type Json } from '../core/json.js';
import type { CallOptions } from '../core/toolbox.js';
import { CALL_TOOL } from '../core/view.js';
import { decide } from '../policy/decide.js';
import { findTool, rulesFor, withoutApps } from './find.js';
import type { CallParts, CallScope } from './parts.js';
import { checkInput, readInput } from './prepare.js';

export interface Forwarded {
  readonly ref: string;
  readonly raw: Json;
  readonly options: CallOptions;
}

/**
 * Returns the call that a call of `call_tool` makes; undefined if it cannot be made, which the call itself then reports.
 * The call is made in place of it, so that policy, approval, progress, limits and record are those of a direct call.
 */
export async function readForwarded(parts: CallParts, raw: unknown, scope: CallScope): Promise<Forwarded | undefined> {
  const { snapshot, options } = scope;
  const { caller = CODE } = options;
  if (options.fault !== undefined) return undefined;
  try {
    const tool = await findTool(parts, CALL_TOOL, scope);
    if (tool.origin.builtin !== true) return undefined;
    const input = await checkInput(tool, readInput(tool, raw, snapshot.settings).input);
    const { verdict } = decide({ tool, input }, caller, rulesFor(parts, tool, scope));
    if (verdict !== 'allow' || !isRecord(input)) return undefined;
    return {
      ref: String(input.name),
      raw: (input.input ?? {}) as Json,
      options: { ...options, caller: withoutApps(caller) },
    };
  } catch (error) {
    if (!isToolError(error)) throw error;
    return undefined;
  }
}
