// Results of calls, for success and failure alike, and the parts of their content.

import type { ErrorValue, ToolError } from './error.js';
import { isRecord, type Json, type JsonObject } from './json.js';
import {
  anything,
  checked,
  formatFault,
  list,
  object,
  optional,
  readShape,
  type Shape,
  string,
  table,
  tagged,
} from './shape.js';
import type { Handle, ResultWriter } from './store.js';

/** Optional fields of any part. */
interface PartBase {
  readonly annotations?: JsonObject;
  readonly _meta?: JsonObject;
}

/** A piece of content, with the fields of MCP so that nothing is lost (TOOL-21). */
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

const part = <const F extends Readonly<Record<string, Shape<unknown>>>>(fields: F) =>
  object({ type: string, ...fields, annotations: optional(table), _meta: optional(table) }, { unknown: 'drop' });
const RESOURCE = checked(
  object({ uri: string, text: optional(anything), blob: optional(anything) }, { unknown: 'drop' }),
  ({ text, blob }, fail) => {
    if (typeof text !== 'string' && typeof blob !== 'string') fail([], 'needs a string "text" or "blob"');
  },
  {
    anyOf: [
      { required: ['text'], properties: { text: { type: 'string' } } },
      { required: ['blob'], properties: { blob: { type: 'string' } } },
    ],
  },
);
/** The parts of a content. */
export const PARTS = list(
  tagged('type', {
    text: part({ text: string }),
    image: part({ data: string, mimeType: string }),
    audio: part({ data: string, mimeType: string }),
    resource_link: part({ uri: string, name: string }),
    resource: part({ resource: RESOURCE }),
  }),
);

/** Returns what is wrong with the parts of a content, if anything. */
export function findPartFault(parts: readonly unknown[]): string | undefined {
  const [fault] = readShape(PARTS, parts, ['content']).faults;
  return fault && formatFault(fault);
}

/** Returns what is wrong with the fields of the type of a part. Some servers write null for optional ones. */
export function findTypeFault(parts: readonly unknown[]): string | undefined {
  const bare = (value: unknown): unknown =>
    isRecord(value) ? { ...value, annotations: undefined, _meta: undefined } : value;
  return findPartFault(parts) && findPartFault(parts.map(bare));
}

/** A change of the input before validation (RUN-4). */
export interface Repair {
  /** JSON Pointer to the changed value. */
  readonly path: string;
  /** What was changed. */
  readonly repair: 'null taken as absent' | 'text parsed as JSON' | 'taken as boolean';
}

/** How a call went. */
export interface ResultMeta {
  /** How long it took, in milliseconds. */
  readonly durationMs: number;
  /** The exit status of a process. */
  readonly exitCode?: number;
  /** What enforced the sandbox of the tool, `none` if nothing could; absent without a sandbox (EXE-10). */
  readonly sandbox?: string;
  /** The profile of that sandbox. */
  readonly sandboxProfile?: string;
  /** Files that appeared during the call and make other programs run code (EXE-75). */
  readonly sandboxLeft?: readonly string[];
  /** Connections that the sandbox refused, if the tool may reach some hosts (EXE-84). */
  readonly sandboxRefused?: readonly string[];
  /** What was changed in the input before it was validated. */
  readonly repaired?: readonly Repair[];
  /** Resolvers that failed, so that the given value was used (TJS-18). */
  readonly resolvers?: readonly { readonly param: string; readonly outcome: 'kept'; readonly reason: string }[];
  /** Number of attempts, if more than one (RUN-9). */
  readonly attempts?: number;
  /** `_meta` of the upstream server that answered (UPS-2). */
  readonly remote?: JsonObject;
  /** The error of the protocol that the upstream server answered with (UPS-107). */
  readonly refusal?: { readonly code: number; readonly message: string; readonly data?: Json };
  /** Labels of the tool, and of the tools that it called (FLW-1). */
  readonly labels?: readonly string[];
  /** True if the output is that of an earlier call. */
  readonly cached?: boolean;
  /** Handle of the complete result, if it was too large to return inline (CTX-1). */
  readonly handle?: Handle;
  /** True if output was cut; `truncation` has the numbers. */
  readonly truncated?: boolean;
  /** How much output was kept, and the limit. */
  readonly truncation?: { readonly keptBytes: number; readonly limitBytes: number };
}

interface ResultBase {
  /** What the tool printed or returned, in parts; at least one if the call succeeded. */
  readonly content: readonly Part[];
  /** How the call went: its duration, and what was changed, cut or stored. */
  readonly meta: ResultMeta;
}

/** The result of a call that succeeded. */
export interface SuccessfulResult<Structured = Json> extends ResultBase {
  /** True: there is no error. */
  readonly ok: true;
  /** The value that the tool returned, if it is not just text. */
  readonly structured?: Structured;
  /** Absent; so `result.error?.code` works before a check of `ok`. */
  readonly error?: undefined;
}

/** The result of a call that failed, or that was not run. */
export interface FailedResult extends ResultBase {
  /** False: there is an error. */
  readonly ok: false;
  /** What the tool returned besides the error. */
  readonly structured?: Json;
  /** What went wrong, and what to do next. */
  readonly error: ErrorValue;
}

/** The outcome of a call (TOOL-20): after `if (result.ok)`, TypeScript knows which fields there are. */
export type ToolResult = SuccessfulResult | FailedResult;

/** What an executor returns, before it becomes a ToolResult. */
export interface Output {
  /** What the tool printed or returned, in parts. */
  readonly content: readonly Part[];
  /** The value that the tool returned. */
  readonly structured?: Json;
  /** Set if the tool ran and failed; its content is kept. */
  readonly error?: ToolError;
  /** What else is reported about the run. */
  readonly meta?: Omit<ResultMeta, 'durationMs' | 'repaired'>;
  /** The bytes of stdout behind the text, and the text of stderr (EXE-7). */
  readonly streams?: { readonly stdout: Uint8Array; readonly stderr: string };
  /** Hash of the bytes that became a handle. */
  readonly storedHash?: string;
  /** The process that goes on after its call, if one does. */
  readonly background?: BackgroundRun;
  /** Receives output that is too large for memory; the text is then only its beginning. */
  readonly spilled?: ResultWriter;
}

/** A process that goes on after its call. */
export interface BackgroundRun {
  readonly id: string;
  /** Resolves when it has ended, with its last output and why it ended. Never rejects. */
  readonly ended: Promise<{ readonly output: Output; readonly reason: string }>;
}

export function textPart(text: string): Part {
  return { type: 'text', text };
}

/** The content of a result without any. */
export const NO_OUTPUT: Part = textPart('');

/** Returns the concatenated text parts of a result. */
export function textOf(result: { readonly content: readonly Part[] }): string {
  return result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Whether the return value of a function reports a failure (MOD-13). */
export function isFailedOutput(value: unknown): value is Readonly<Record<string, unknown>> {
  return isRecord(value) && value.is_error === true;
}
