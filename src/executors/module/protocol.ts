// What is said between us and the tool host: one JSON object a line, both ways.

import type { Progress, ToolUpstreams } from '../../core/context.js';
import type { ElicitAnswer, Elicitation } from '../../core/elicit.js';
import type { ErrorValue } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import type { Part, ToolResult } from '../../core/result.js';
import type { ToolConfig } from '../../core/settings.js';
import type { InlineModule, ModuleFiles } from '../../core/tool.js';

/** What we say to the host. */
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
      /** Whether there is a store. */
      readonly stores: boolean;
      /** Whether tools of servers can be reached. */
      readonly upstreams: boolean;
      /** Whether the person can be asked. */
      readonly asks: boolean;
      readonly outputBytes: number;
    }
  | { readonly type: 'cancel'; readonly id: number }
  | { readonly type: 'answer'; readonly id: number; readonly question: number; readonly answer: Answer };

/** What a tool's question got: a nested call's result, the person's answer, a value of the store, tools of servers, or why there is none. */
export type Answer =
  | { readonly result: ToolResult }
  | { readonly elicited: ElicitAnswer }
  | { readonly value: Json }
  | { readonly remoteTools: Awaited<ReturnType<ToolUpstreams['list']>> }
  | { readonly error: ErrorValue };

/** What the host says to us. */
export type Reply =
  | { readonly type: 'described'; readonly id: number; readonly description: Json }
  | {
      readonly type: 'result';
      readonly id: number;
      readonly content: readonly Part[];
      readonly structured?: Json;
      readonly error?: ErrorValue;
    }
  /** The host hears us, whatever the tool does. */
  | { readonly type: 'cancelling'; readonly id: number }
  | { readonly type: 'progress'; readonly id: number; readonly progress: Progress }
  | { readonly type: 'log'; readonly id: number; readonly message: string }
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

/** Splits what comes into lines; throws where one is longer than the limit. */
export function createLineReader(
  onLine: (line: string) => void,
  limitBytes: number,
): (chunk: Buffer) => void {
  let kept: Buffer[] = [];
  let size = 0;
  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1; end = chunk.indexOf(0x0a, from)) {
      kept.push(chunk.subarray(from, end));
      const line = kept.length === 1 ? kept[0]! : Buffer.concat(kept);
      kept = [];
      size = 0;
      from = end + 1;
      onLine(line.toString('utf8'));
    }
    if (from === chunk.length) return;
    kept.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > limitBytes) throw new RangeError('a message is longer than the limit');
  };
}
