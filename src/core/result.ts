// The one shape of success and failure, and the parts of its content.

import type { ErrorValue, ToolError } from './error.js';
import { isRecord, type Json, type JsonObject } from './json.js';
import type { Handle, ResultWriter } from './store.js';

/** What any part can carry besides: for whom it is, and what its author adds. */
interface PartBase {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** A piece of content, as in MCP, so that nothing is lost between doors (TOOL-21). */
export type Part = PartBase &
  (
    | { readonly type: 'text'; readonly text: string }
    | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
    | { readonly type: 'audio'; readonly data: string; readonly mimeType: string }
    | {
        readonly type: 'resource_link';
        readonly uri: string;
        readonly name: string;
        readonly title?: string;
        readonly description?: string;
        readonly mimeType?: string;
        readonly size?: number;
        readonly icons?: readonly JsonObject[];
      }
    | {
        readonly type: 'resource';
        readonly resource: {
          readonly uri: string;
          readonly mimeType?: string;
          readonly text?: string;
          readonly blob?: string;
          readonly _meta?: JsonObject;
        };
      }
  );

/** A change that was made to the input before it was checked (RUN-4). */
export interface Repair {
  readonly path: string;
  readonly repair: 'null taken as absent' | 'text parsed as JSON';
}

export interface ResultMeta {
  readonly durationMs: number;
  readonly exitCode?: number;
  readonly repaired?: readonly Repair[];
  /** Resolvers that did not answer, so that the value given was used (TJS-18). */
  readonly resolvers?: readonly {
    readonly param: string;
    readonly outcome: 'kept';
    readonly reason: string;
  }[];
  /** How often it ran, where that was more than once (RUN-9). */
  readonly attempts?: number;
  /** What the tool's server adds to its answer (UPS-2). */
  readonly remote?: JsonObject;
  /** True where the output is that of an earlier call. */
  readonly cached?: boolean;
  /** Where the whole of a result is that was too large to be shown (CTX-1). */
  readonly handle?: Handle;
  /** True where output was cut; the counts are in `truncation`. */
  readonly truncated?: boolean;
  readonly truncation?: { readonly keptBytes: number; readonly limitBytes: number };
}

/** Every outcome of a call (TOOL-20). */
export interface ToolResult {
  readonly ok: boolean;
  readonly content: readonly Part[];
  readonly structured?: Json;
  readonly error?: ErrorValue;
  readonly meta: ResultMeta;
}

/** What an executor gives back before it is shaped into a ToolResult. */
export interface Output {
  readonly content: readonly Part[];
  readonly structured?: Json;
  /** Set when the tool ran and failed; its content still counts. */
  readonly error?: ToolError;
  readonly meta?: Omit<ResultMeta, 'durationMs' | 'repaired'>;
  /** The bytes of standard output behind the text, and what standard error said beside it (EXE-7). */
  readonly streams?: { readonly stdout: Uint8Array; readonly stderr: string };
  /** What the bytes hash to that became a handle. */
  readonly storedHash?: string;
  /** Where the bytes went that were too many to be kept; the text is then only their beginning. */
  readonly spilled?: ResultWriter;
}

export function textPart(text: string): Part {
  return { type: 'text', text };
}

/** The text parts of a result, one after the other. */
export function textOf(result: { readonly content: readonly Part[] }): string {
  return result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Whether what a function returned says itself that it failed (MOD-13). */
export function isFailedOutput(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && value.is_error === true;
}
