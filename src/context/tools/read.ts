// The context tools read, list, exists, versions and search.

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { OpenDocument } from '../../core/store.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { findLines } from '../paging.js';
import { answer, describeVersion, formatSize, formatTime, readText, storeOf, toTable } from './answer.js';

interface Target {
  readonly path: string;
}

type Read = Target & { readonly offset?: number; readonly limit?: number; readonly version?: number };

// Close to the maximum length of a string.
const MAX_READ_BYTES = 128 * 1024 * 1024;

export async function read({ path, offset, limit, version }: Read, context: ToolContext) {
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

export async function list({ path }: Partial<Target>, context: ToolContext) {
  const documents = await storeOf(context).documents.list(path);
  const rows = documents.map((one) => [
    one.path,
    formatSize(one.size),
    one.kind,
    String(one.version),
    formatTime(one.created),
  ]);
  const text = rows.length === 0 ? 'no documents' : toTable([['PATH', 'SIZE', 'KIND', 'VERSION', 'CHANGED'], ...rows]);
  return answer(text, { documents: documents.map(describeVersion) });
}

export async function exists({ path }: Target, context: ToolContext) {
  const [newest] = await storeOf(context).documents.versions(path);
  const found = newest !== undefined && newest.size !== null;
  return answer(found ? 'yes' : 'no', { exists: found, ...(found ? describeVersion(newest) : { path }) });
}

export async function versions({ path }: Target, context: ToolContext) {
  const { documents } = storeOf(context);
  const known = await documents.versions(path);
  // Throws `not_found`.
  if (known.length === 0) await documents.read(path);
  const rows = known.map(({ version, size, created }) => [String(version), formatSize(size), formatTime(created)]);
  return answer(toTable([['VERSION', 'SIZE', 'CHANGED'], ...rows]), {
    path: known[0]!.path,
    versions: known.map(describeVersion),
  });
}

type Search = Partial<Target> & { readonly query: string; readonly limit?: number };

export async function search({ query, path, limit = 10 }: Search, context: ToolContext) {
  const hits = await storeOf(context).documents.search(query, { prefix: path, limit });
  const text = hits.map((hit) => `${hit.path}:${hit.startLine}-${hit.endLine}\n  ${hit.snippet}\n`).join('\n');
  return answer(hits.length === 0 ? `no results for "${quoteOutside(query)}"` : text, {
    hits: hits.map(({ path: found, startLine, endLine, snippet, score }) => ({
      path: found,
      start_line: startLine,
      end_line: endLine,
      snippet,
      score,
    })),
  });
}
