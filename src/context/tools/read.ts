// The context tools read, list, exists, versions and search.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { OpenDocument } from '../../core/store.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { findLines } from '../paging.js';
import { answer, describeVersion, readText, storeOf } from './answer.js';

export interface Target {
  readonly path: string;
}

interface ReadInput extends Target {
  readonly offset?: number;
  readonly limit?: number;
  readonly version?: number;
}

// Close to the maximum length of a string.
const MAX_READ_BYTES = 128 * 1024 * 1024;

export async function read({ path, offset, limit, version }: ReadInput, context: ToolContext) {
  const source = await storeOf(context).documents.open(path, version);
  try {
    return source.kind === 'binary' ? readBinary(source) : readLines(source, offset ?? 1, limit);
  } finally {
    source.close();
  }
}

function readLines(source: OpenDocument, first: number, limit: number | undefined) {
  const last = limit === undefined ? Number.POSITIVE_INFINITY : first + limit - 1;
  const { start, end, lines } = findLines(source, first, last);
  if (first > lines) {
    throw new ToolError('invalid_input', `${quoteOutside(source.path)} has no line ${first}`, {
      hint: `use an offset from 1 to ${lines}`,
      data: { path: source.path, lines },
    });
  }
  assertReadable(source, end - start);
  const content = readText(source, start, end);
  return answer(content, {
    path: source.path,
    version: source.version,
    kind: source.kind,
    start_line: first,
    end_line: Math.min(last, lines),
    ...(end < source.size ? { next_offset: lines + 1 } : {}),
    content,
  });
}

function readBinary(source: OpenDocument) {
  assertReadable(source, source.size);
  return {
    content: [
      {
        type: 'resource',
        resource: {
          uri: `wield://context/${encodeURI(source.path)}`,
          mimeType: 'application/octet-stream',
          blob: Buffer.from(source.read(0, source.size)).toString('base64'),
        },
      },
    ],
    structured: describeVersion(source),
  };
}

function assertReadable({ path }: OpenDocument, bytes: number): void {
  if (bytes <= MAX_READ_BYTES) return;
  const message = `${quoteOutside(path)} is too large to read at once: ${formatBytes(bytes)}`;
  const hint = 'use offset and limit, or reduce it with context_query';
  throw new ToolError('too_large', message, { hint, data: { path, bytes } });
}
