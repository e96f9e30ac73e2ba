// Messages between wield and the tool host: one JSON object per line, in both directions.

import type { Progress, ToolUpstreams } from '../../core/context.js';
import type { ElicitAnswer, Elicitation } from '../../core/elicit.js';
import type { ErrorValue } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Part, ToolResult } from '../../core/result.js';
import type { ToolConfig } from '../../core/settings.js';
import type { InlineModule, ModuleFiles } from '../../core/tool.js';

/** Messages to the host. */
export type Request =
  | { readonly type: 'describe'; readonly id: number; readonly source: ModuleFiles }
  | {
      readonly type: 'run';
      readonly id: number;
      readonly tool: string;
      readonly source: ModuleFiles | InlineModule;
      readonly export: string;
      readonly input: Json;
      readonly workdir: string;
      readonly config: ToolConfig;
      /** Whether the call has a store. */
      readonly stores: boolean;
      /** Whether upstream tools are available. */
      readonly upstreams: boolean;
      /** Whether the caller can answer questions. */
      readonly asks: boolean;
      readonly outputBytes: number;
    }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly question: number; readonly answer: Answer };

/** The answer to a question of a tool. */
export type Answer =
  | { readonly result: ToolResult }
  | { readonly elicited: ElicitAnswer }
  | { readonly value: Json }
  | { readonly remoteTools: Awaited<ReturnType<ToolUpstreams['list']>> }
  | { readonly error: ErrorValue };

/** Messages from the host. */
export type Reply =
  | { readonly type: 'described'; readonly id: number; readonly description: Json }
  | {
      readonly type: 'result';
      readonly id: number;
      readonly content: readonly Part[];
      readonly structured?: Json;
      readonly error?: ErrorValue;
    }
  /** Confirms a cancellation: the host is responsive, even if the tool does not stop. */
  | { readonly type: 'cancelling'; readonly id: number }
  | { readonly type: 'progress'; readonly id: number; readonly progress: Progress }
  | { readonly type: 'log'; readonly id: number; readonly message: string }
  | Question;

/** A message that expects an answer. */
export type Question =
  | {
      readonly type: 'call';
      readonly id: number;
      readonly question: number;
      readonly ref: string;
      readonly input: Json;
    }
  | {
      readonly type: 'elicit';
      readonly id: number;
      readonly question: number;
      readonly request: Elicitation;
    }
  | { readonly type: 'remote-tools'; readonly id: number; readonly question: number }
  | {
      readonly type: 'store';
      readonly id: number;
      readonly question: number;
      readonly method: string;
      readonly args: Json;
    };

// The host keeps working if a module replaces built-ins, so it uses these, captured before modules are loaded.
const { apply } = Reflect;
const { allocUnsafe } = Buffer;
const { indexOf, subarray, toString: decode, set } = Buffer.prototype;

/** Chunks of an incomplete line, the last one first. */
interface Pending {
  readonly chunk: Buffer;
  readonly before: Pending | undefined;
}

/** Splits chunks into lines. Throws if a line is longer than the limit. */
export function createLineReader(onLine: (line: string) => void, limitBytes: number): (chunk: Buffer) => void {
  let pending: Pending | undefined;
  let size = 0;
  const take = (chunk: Buffer): string => {
    let line = chunk;
    if (pending !== undefined) {
      line = allocUnsafe(size + chunk.length);
      apply(set, line, [chunk, size]);
      for (let part: Pending | undefined = pending, at = size; part !== undefined; part = part.before) {
        at -= part.chunk.length;
        apply(set, line, [part.chunk, at]);
      }
    }
    pending = undefined;
    size = 0;
    return apply(decode, line, ['utf8']);
  };
  return (chunk) => {
    let from = 0;
    for (let end: number = apply(indexOf, chunk, [0x0a]); end !== -1; end = apply(indexOf, chunk, [0x0a, from])) {
      const line = take(apply(subarray, chunk, [from, end]) as Buffer);
      from = end + 1;
      onLine(line);
    }
    if (from === chunk.length) return;
    pending = { chunk: apply(subarray, chunk, [from]) as Buffer, before: pending };
    size += chunk.length - from;
    if (size > limitBytes) throw new RangeError('longer than the limit');
  };
}
