// The context tool pipe: calls another tool and stores its output as a document (CTX-20).

import { StringDecoder } from 'node:string_decoder';
import type { CalledTool, ToolContext } from '../../core/context.js';
import { reviveError, ToolError } from '../../core/error.js';
import { type ToolResult, textOf } from '../../core/result.js';
import { formatBytes, sanitize } from '../../core/text.js';
import { answer, assertFree, type OnConflict, storeOf } from './answer.js';

interface PipeInput {
  readonly tool_name: string;
  readonly tool_input?: Readonly<Record<string, unknown>>;
  readonly path: string;
  readonly on_conflict?: OnConflict;
}

const CONTEXT_PIPE = 'context_pipe';
const PREVIEW_CHARACTERS = 200;
const MAX_MESSAGE_BYTES = 2048;
// Collected in memory until the tool has succeeded.
const MAX_PAYLOAD_BYTES = 512 * 1024 * 1024;

export async function pipe(input: PipeInput, context: ToolContext) {
  const { tool_name: name, tool_input: inner = {}, path, on_conflict } = input;
  const store = storeOf(context);
  const overwrite = on_conflict === 'overwrite';
  // Before the tool runs, since its effects cannot be undone.
  if (!overwrite) await assertFree(store, path);
  const collected = collect(context.signal);
  let started = false;
  const result = await context.toolbox.call(name, inner, {
    accept: assertPipeable,
    onStart: () => {
      started = true;
    },
    onOutput: collected.add,
    signal: collected.signal,
  });
  if (collected.exceeded()) throw tooMuchOutput(name);
  if (result.error !== undefined) {
    // If nothing ran, the error is the one of a direct call.
    throw started ? innerError(name, result) : reviveError(result.error);
  }
  const payload = toPayload(result, collected.bytes());
  const written = await store.documents.write(path, payload, { overwrite });
  const preview = toPreview(payload);
  return answer(`stored ${written.path}: ${formatBytes(payload.length)}, starting with\n${preview}`, {
    path: written.path,
    bytes_written: payload.length,
    preview,
  });
}

// Collects stdout up to a limit; beyond it the call is cancelled.
function collect(outer: AbortSignal) {
  const controller = new AbortController();
  const chunks: Uint8Array[] = [];
  let length = 0;
  return {
    signal: AbortSignal.any([outer, controller.signal]),
    add(chunk: Uint8Array, from: 'stdout' | 'stderr'): void {
      if (from === 'stderr') return;
      length += chunk.length;
      if (length > MAX_PAYLOAD_BYTES) controller.abort();
      else chunks.push(chunk);
    },
    exceeded: () => length > MAX_PAYLOAD_BYTES,
    bytes: () => Buffer.concat(chunks),
  };
}

// CTX-21: called with the tool that was found, whatever reference was used, and with every tool that it calls.
function assertPipeable({ name, traits }: CalledTool): void {
  if (!traits.terminal && name !== CONTEXT_PIPE) return;
  const why = traits.terminal ? 'it ends the conversation' : 'it returns no output of its own';
  throw new ToolError('forbidden_tool', `${name} cannot be piped: ${why}`, {
    hint: traits.terminal ? `call ${name} by itself` : 'name the tool whose output you want to store',
    data: { tool: name },
  });
}

// The output without an envelope: stdout of a process, else structured JSON, else text.
function toPayload(result: ToolResult, printed: Uint8Array): Uint8Array {
  const { structured, meta } = result;
  if (printed.length > 0 || meta.exitCode !== undefined) return printed;
  if (structured === undefined || typeof structured === 'string') return Buffer.from(textOf(result));
  return Buffer.from(JSON.stringify(structured));
}

// At most 200 UTF-16 units, without control characters and split surrogate pairs.
function toPreview(payload: Uint8Array): string {
  const head = new StringDecoder('utf8').write(Buffer.from(payload.subarray(0, PREVIEW_CHARACTERS * 4)));
  const clean = sanitize(head);
  const cut = clean.slice(0, PREVIEW_CHARACTERS);
  return /[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut;
}

function tooMuchOutput(name: string): ToolError {
  const limit = formatBytes(MAX_PAYLOAD_BYTES);
  return new ToolError('too_large', `${name} was cancelled: its output exceeds ${limit}; nothing was stored`, {
    hint: 'request less output at once',
    data: { tool: name },
  });
}

function innerError(name: string, { error, content }: ToolResult): ToolError {
  const { code, message, hint } = error!;
  const output = textOf({ content }).trim();
  const text = output === '' || message.includes(output) ? message : `${message}\n${output}`;
  return new ToolError('inner_tool_error', capBytes(text), {
    hint: hint ?? `call ${name} again with other input`,
    data: { tool: name, code },
  });
}

function capBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_MESSAGE_BYTES) return text;
  // Leaves space for the ellipsis, and splits no character.
  return `${new StringDecoder('utf8').write(bytes.subarray(0, MAX_MESSAGE_BYTES - 3))}…`;
}
