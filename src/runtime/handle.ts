// A result that is too large to be shown becomes a handle: stored whole, answered by what it is and how to read on.

import type { Spill } from '../core/executor.js';
import type { Json } from '../core/json.js';
import { type Output, textOf, textPart } from '../core/result.js';
import type { FinishedResult, Handle, ResultStore } from '../core/store.js';
import { formatBytes } from '../core/text.js';
import type { Tool } from '../core/tool.js';

/** Where results of one call go that are too large. */
export interface ResultRoom {
  readonly store: ResultStore;
  readonly session: string;
  /** Characters that are shown as they are. */
  readonly inline: number;
  /** The calls that read more of a result, one a line. */
  readonly ways: (handle: Handle) => readonly string[];
}

// A character has at most four bytes, so that more than four times as many are surely too much.
const BYTES_A_CHARACTER = 4;
// JSON that is checked against the tool's own schema is read back up to here.
const MAX_CHECKED_BYTES = 64 * 1024 * 1024;

/** For an executor whose output grows: where to put it once it is too much. */
export function toSpill({ store, session, inline }: ResultRoom): Spill {
  return { afterBytes: inline * BYTES_A_CHARACTER, open: () => store.create(session) };
}

/**
 * The output as it is shown: itself where it is small enough, else a handle in its place. What failed keeps its
 * beginning too, since whoever must mend it should not have to ask (CTX-2).
 */
export function toShown(tool: Tool, output: Output, room: ResultRoom | undefined): Output {
  const { spilled, streams, ...plain } = output;
  if (room === undefined) return plain;
  const text = textOf(output);
  if (spilled === undefined && text.length <= room.inline) return plain;
  const { handle, sha256 } = spilled?.finish() ?? keep(room, streams?.stdout ?? Buffer.from(text));
  const structured = keepStructured(tool, output, handle, room);
  const { structured: _, ...rest } = plain;
  return {
    ...rest,
    content: [
      textPart(describe(output, handle, streams?.stderr ?? '', room)),
      ...output.content.filter((part) => part.type !== 'text'),
    ],
    ...(structured === undefined ? {} : { structured }),
    meta: { ...output.meta, handle },
    storedHash: sha256,
  };
}

function keep({ store, session }: ResultRoom, bytes: Uint8Array): FinishedResult {
  const writer = store.create(session);
  writer.write(bytes);
  return writer.finish();
}

// Where a tool declares what it returns, clients check that, so that it has to come along.
function keepStructured(tool: Tool, output: Output, handle: Handle, room: ResultRoom): Json | undefined {
  if (tool.output === undefined || output.error !== undefined) return undefined;
  if (output.structured !== undefined || output.spilled === undefined) return output.structured;
  if (handle.kind !== 'json' || handle.size > MAX_CHECKED_BYTES) return undefined;
  const stored = room.store.open(handle.id, room.session)!;
  try {
    return JSON.parse(Buffer.from(stored.read(0, handle.size)).toString('utf8')) as Json;
  } finally {
    stored.close();
  }
}

function describe(output: Output, handle: Handle, stderr: string, room: ResultRoom): string {
  const what = handle.kind === 'json' ? 'JSON' : handle.kind === 'text' ? 'text' : 'binary data';
  const { truncation } = output.meta ?? {};
  const failed = output.error !== undefined;
  return [
    `${failed ? 'The output' : 'The result'} is ${formatBytes(handle.size)} of ${what}, stored as ${handle.id}.`,
    ...(truncation === undefined
      ? []
      : [`[truncated: only the first ${formatBytes(truncation.keptBytes)} were kept, the limit]`]),
    ...(handle.shape === undefined ? [] : [`Shape: ${handle.shape}`]),
    'It begins:',
    failed ? beginningOf(output, room) : handle.preview,
    'Read more with:',
    ...room.ways(handle).map((way) => `  ${way}`),
    ...(stderr === '' ? [] : ['[stderr]', showAside(stderr, room)]),
  ].join('\n');
}

// More of what failed than of what is fine: it has to be mended from this.
function beginningOf(output: Output, room: ResultRoom): string {
  const text =
    output.streams === undefined ? textOf(output) : Buffer.from(output.streams.stdout).toString('utf8');
  return text.slice(0, Math.floor(room.inline / 4));
}

// What a tool says beside its output is mostly short, and often the reason why someone looks.
function showAside(stderr: string, room: ResultRoom): string {
  const most = Math.floor(room.inline / 4);
  if (stderr.length <= most) return stderr;
  const { id, size } = keep(room, Buffer.from(stderr)).handle;
  return `${stderr.slice(0, most)}…\n(${formatBytes(size)} in all, stored as ${id})`;
}
