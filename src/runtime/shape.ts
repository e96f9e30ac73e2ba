// Turns the output of an executor, or an error, into the result of a call: validated, redacted, stored if it is large.

import { type ErrorValue, ToolError, toPlainError, toToolError } from '../core/error.js';
import type { Spill } from '../core/executor.js';
import type { Json } from '../core/json.js';
import { parseOutput } from '../core/json.js';
import { isLargeJson, MOST_READ_TEXT } from '../core/json-size.js';
import { redactKnown, redactOutput, redactValue } from '../core/redact.js';
import { NO_OUTPUT, type Output, type ResultMeta, type ToolResult, textOf, textPart } from '../core/result.js';
import { referencesOf } from '../core/settings.js';
import type { Snapshot } from '../core/snapshot.js';
import {
  type FinishedResult,
  type Handle,
  type ResultStore,
  type StoredResult,
  type Stores,
  toStoreError,
} from '../core/store.js';
import { formatBytes, sanitize } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { describeOutputFaults } from '../schema/faults.js';
import { compactOutput, isCompact, MOST_CHARACTERS, toTable } from './compact.js';
import type { CallParts } from './parts.js';
import type { Call } from './scope.js';

type ShapedCall = Pick<Call, 'tool' | 'repairs' | 'snapshot' | 'startedAt' | 'labels'>;

/** Returns the result of a run; `invalid_output` if the structured output does not match its schema (TOOL-22). */
export async function shapeOutput(call: ShapedCall, output: Output, now: number): Promise<ToolResult> {
  const { content, structured, meta } = output;
  const { tool } = call;
  const error = output.error ?? (tool?.output && (await findOutputFault(tool, output)));
  const returned = {
    content: content.length > 0 ? content : [NO_OUTPUT],
    // A tool that failed may say more in its structured output; what does not match its schema is not passed on.
    ...(structured !== undefined && error === output.error ? { structured } : {}),
  };
  const ended = toMeta(call, now, meta);
  if (error === undefined) return { ok: true, ...returned, meta: ended };
  return { ok: false, ...returned, error: toErrorValue(error, call.snapshot), meta: ended };
}

/** Whether the output of a call may contain values that are not stored (SEC-8); a reference is read when the tool runs. */
export function hasVariables({ tool, snapshot }: Call): boolean {
  return snapshot.hidden.length > 0 || Object.keys(referencesOf(tool!, snapshot.settings)).length > 0;
}

// ERR-8: output for a model, or for a program that a model wrote, whose calls say whether they want handles.
function isForModel({ caller, nesting }: Call): boolean {
  return caller.kind === 'model' && (nesting.depth === 0 || nesting.handles !== undefined);
}

/** Removes the values of variables from output for a model, before a part of it is shown or stored. */
export function hideVariables(call: Call, output: Output): Output {
  return isForModel(call) ? withoutVariables(call, output) : output;
}

function withoutVariables({ snapshot }: Call, output: Output): Output {
  const shown = redactOutput(output, snapshot.hidden);
  if (shown.content === output.content) return shown;
  const { streams: _, ...rest } = shown;
  return rest;
}

/** Returns the result of a call that did not run. */
export function shapeFailure(call: ShapedCall, thrown: unknown, now: number): ToolResult {
  const error = toErrorValue(toPlainError(toToolError(thrown)), call.snapshot);
  return { ok: false, content: [textPart('')], error, meta: toMeta(call, now) };
}

async function findOutputFault(tool: Tool, output: Output): Promise<ToolError | undefined> {
  if (output.meta?.truncated === true) return undefined;
  const { handle } = output.meta ?? {};
  if (output.structured === undefined && handle?.kind === 'json') {
    return new ToolError('too_large', `${tool.name} returned ${formatBytes(handle.size)}, too much to validate`, {
      hint: `it is stored as ${handle.id}; for the author: return less, or remove the output schema`,
    });
  }
  if (output.structured === undefined && isLargeJson(textOf(output))) {
    return new ToolError('too_large', `${tool.name} returned more than ${MOST_READ_TEXT}, too much to validate`, {
      hint: 'for the author of the tool: return less, or remove the output schema',
    });
  }
  if (output.structured === undefined) {
    return new ToolError('invalid_output', `${tool.name} has an output schema, but its output is not JSON`, {
      hint: 'for the author of the tool: print one JSON value, or remove the output schema',
    });
  }
  const check = await tool.output!.check(output.structured);
  if (check.ok) return undefined;
  return describeOutputFaults(tool.name, check.faults);
}

function toMeta({ startedAt, repairs, labels }: ShapedCall, now: number, meta?: Output['meta']): ResultMeta {
  return {
    durationMs: now - startedAt,
    ...meta,
    ...(repairs.length > 0 ? { repaired: repairs } : {}),
    ...(labels === undefined ? {} : { labels: [...labels].sort() }),
  };
}

// ERR-5: the secrets of the configuration must not appear in messages.
function toErrorValue(error: ToolError, { secrets }: Pick<Snapshot, 'secrets'>): ErrorValue {
  const clean = (text: string): string => redactKnown(sanitize(text), secrets);
  const { code, message, hint, data } = error;
  return {
    code,
    message: clean(message),
    ...(hint === undefined ? {} : { hint: clean(hint) }),
    ...(data === undefined ? {} : { data: redactValue(data, secrets) }),
  };
}

/** Where the large results of one call are stored. */
export interface LargeResults {
  readonly store: ResultStore;
  readonly session: string;
  /** Maximum length of a result that is returned inline, in characters. */
  readonly inline: number;
  readonly snapshot: Snapshot;
  /** Those of the call so far. */
  readonly labels: readonly string[];
  readonly nextCalls: Stores['nextCalls'];
}

/**
 * Returns where the large result of a call is stored; undefined if it is returned whole, as to a nested call that does not
 * ask for handles, or if its output is streamed.
 */
export function largeResultsOf({ stores }: Pick<CallParts, 'stores'>, call: Call): LargeResults | undefined {
  const { caller, options, snapshot, nesting } = call;
  const isNested = nesting.depth > 0 && nesting.handles !== true;
  if (stores === undefined || isNested || options.full === true || options.onOutput !== undefined) return undefined;
  const { results, session, nextCalls } = stores;
  const { inline: most } = snapshot.settings.results;
  // SKL-10: instructions are read whole.
  const inline = call.tool?.traits.text === true ? Math.max(most, MOST_INSTRUCTIONS) : most;
  const labels = [...(call.labels ?? [])];
  return { store: results, session: caller.session ?? session, inline, snapshot, labels, nextCalls };
}

// A page of a skill with the list of its files.
const MOST_INSTRUCTIONS = 150_000;
// A UTF-8 character has at most four bytes, so more than four times as many are certainly too large.
const BYTES_PER_CHARACTER = 4;
// Stored JSON is read back for the check against the output schema up to this size.
const MAX_CHECKED_BYTES = 64 * 1024 * 1024;

/** Returns where an executor writes output once it is too large. */
export function toSpill({ store, session, inline, snapshot }: LargeResults): Spill {
  return {
    afterBytes: inline * BYTES_PER_CHARACTER,
    open: () => store.create(session, snapshot.settings.results),
  };
}

/**
 * Returns the output if it is small enough, else a handle to it. A failed output keeps its beginning, so that the
 * error can be fixed without another call (CTX-2).
 */
export async function toInlineOutput(parts: Pick<CallParts, 'stores'>, call: Call, output: Output): Promise<Output> {
  const tool = call.tool!;
  const large = largeResultsOf(parts, call);
  if (large === undefined || (output.spilled === undefined && textOf(output).length <= large.inline))
    return isCompact(call) ? compactOutput(withoutStreams(output)) : withoutStreams(output);
  try {
    const shown = isForModel(call) ? output : withoutVariables(call, output);
    const stored = await toStored(tool, shown, large, isCompact(call));
    await large.store.share?.();
    return stored;
  } catch (error) {
    return toUnstored(tool, output, large, error);
  }
}

function withoutStreams({ spilled: _, streams: __, ...plain }: Output): Output {
  return plain;
}

async function toStored(tool: Tool, output: Output, large: LargeResults, compact: boolean): Promise<Output> {
  const { spilled, streams, ...plain } = output;
  const { handle, sha256 } =
    spilled?.finish(large.labels) ?? store(large, streams?.stdout ?? Buffer.from(textOf(output)));
  const structured = readStructured(tool, output, handle, large);
  const isRead = compact && handle.kind === 'json' && handle.size <= MOST_CHARACTERS * BYTES_PER_CHARACTER;
  const table = isRead ? await toTable(spilled === undefined ? textOf(output) : readStored(handle, large)) : undefined;
  const { structured: _, ...rest } = plain;
  return {
    ...rest,
    content: [
      textPart(describe(output, handle, streams?.stderr ?? '', large, table)),
      ...output.content.filter((part) => part.type !== 'text'),
    ],
    ...(structured === undefined ? {} : { structured }),
    meta: { ...output.meta, handle },
    storedHash: sha256,
  };
}

// STA-3: a result that cannot be stored is an error with the beginning of the output.
function toUnstored(tool: Tool, output: Output, { inline }: LargeResults, cause: unknown): Output {
  const { spilled: _, streams: __, structured: ___, ...plain } = output;
  const text = textOf(output);
  const shown = text.slice(0, inline);
  const keptBytes = Buffer.byteLength(shown);
  const notice = `\n[truncated: only the first ${formatBytes(keptBytes)} of the output are shown]`;
  return {
    ...plain,
    content: [
      textPart(shown.length < text.length ? shown + notice : shown),
      ...output.content.filter((part) => part.type !== 'text'),
    ],
    error: output.error ?? toStoreError(tool.name, cause),
    meta: { ...output.meta, truncated: true },
  };
}

function store(large: LargeResults, bytes: Uint8Array): FinishedResult {
  const writer = toSpill(large).open();
  try {
    writer.write(bytes);
  } catch (error) {
    writer.discard();
    throw error;
  }
  return writer.finish(large.labels);
}

// Clients validate the structured content of a tool with an output schema, so it must be returned.
function readStructured(tool: Tool, output: Output, handle: Handle, large: LargeResults): Json | undefined {
  if (tool.output === undefined || output.error !== undefined) return undefined;
  if (output.structured !== undefined || output.spilled === undefined) return output.structured;
  if (handle.kind !== 'json' || handle.size > MAX_CHECKED_BYTES) return undefined;
  return parseOutput(readStored(handle, large));
}

function readStored({ id, size }: Handle, { store, session }: LargeResults): string {
  // It was created here, so it need not be waited for.
  const stored = store.open(id, session) as StoredResult;
  try {
    return Buffer.from(stored.read(0, size)).toString('utf8');
  } finally {
    stored.close();
  }
}

function describe(
  output: Output,
  handle: Handle,
  stderr: string,
  large: LargeResults,
  table: string | undefined,
): string {
  const what = handle.kind === 'json' ? 'JSON' : handle.kind === 'text' ? 'text' : 'binary data';
  const { truncation } = output.meta ?? {};
  const failed = output.error !== undefined;
  return [
    `${failed ? 'The output' : 'The result'} is ${formatBytes(handle.size)} of ${what}, stored as ${handle.id}.`,
    ...(truncation === undefined
      ? []
      : [`[truncated: only the first ${formatBytes(truncation.keptBytes)} were kept, the limit]`]),
    ...(handle.shape === undefined ? [] : [`Shape: ${handle.shape}`]),
    ...(failed || table === undefined
      ? ['It begins:', failed ? beginningOf(output, large) : handle.preview]
      : ['As a table, it begins:', `${table.slice(0, handle.preview.length)}…`]),
    'Read more with:',
    ...large.nextCalls(handle, large.snapshot).map((call) => `  ${call}`),
    ...(stderr === '' ? [] : ['[stderr]', showStderr(stderr, large)]),
  ].join('\n');
}

// Longer than a preview, because the error has to be fixed from it.
function beginningOf(output: Output, { inline }: LargeResults): string {
  const text = output.streams === undefined ? textOf(output) : Buffer.from(output.streams.stdout).toString('utf8');
  return text.slice(0, Math.floor(inline / 4));
}

function showStderr(stderr: string, large: LargeResults): string {
  const most = Math.floor(large.inline / 4);
  if (stderr.length <= most) return stderr;
  const { id, size } = store(large, Buffer.from(stderr)).handle;
  return `${stderr.slice(0, most)}…\n(${formatBytes(size)} in all, stored as ${id})`;
}
