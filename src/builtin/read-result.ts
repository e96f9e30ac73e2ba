// The built-in tool `read_result`: reads a stored result by page, lines or bytes (CTX-2).

import { endOfPage, findLines, findPages, type Span, startOfCharacter } from '../context/paging.js';
import type { ToolContext } from '../core/context.js';
import { ToolError } from '../core/error.js';
import type { JsonObject } from '../core/json.js';
import type { Output, Part } from '../core/result.js';
import type { StoredResult } from '../core/store.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { defineBuiltin } from '../formats/module/builtin.js';

export const READ_RESULT = 'read_result';

interface Asked {
  readonly id: string;
  readonly page?: number;
  readonly offset?: number;
  readonly limit?: number;
  readonly lines?: string;
}

const KEPT_PAGINGS = 16;

export function createReadResultTool(): Tool {
  // Caches page boundaries, because finding a page means finding all pages before it.
  const pagings = new Map<string, readonly number[]>();
  const pagesOf = (id: string, source: StoredResult, size: number, text: boolean): readonly number[] => {
    const key = `${id} ${size}`;
    const known = pagings.get(key);
    if (known !== undefined) return known;
    if (pagings.size >= KEPT_PAGINGS) pagings.delete(pagings.keys().next().value!);
    const found = findPages(source, size, text);
    pagings.set(key, found);
    return found;
  };
  return defineBuiltin<Asked>({
    name: READ_RESULT,
    description: 'Read a large result by page, lines, or offset in bytes.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'r_…' },
        page: {
          type: 'integer',
          minimum: 1,
          description: 'From 1; page 1 of JSON is its shape',
        },
        lines: {
          type: 'string',
          pattern: '^[1-9][0-9]{0,9}(-[1-9][0-9]{0,9})?$',
          description: '"10" or "10-20"',
        },
        offset: { type: 'integer', minimum: 0, description: 'First byte, from 0' },
        limit: { type: 'integer', minimum: 1, description: 'Number of bytes' },
      },
      required: ['id'],
    },
    outputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string' },
        size: { type: 'integer' },
        kind: { enum: ['text', 'json', 'binary'] },
        page: { type: 'integer' },
        pages: { type: 'integer' },
        lines: { type: 'string' },
        offset: { type: 'integer' },
        bytes: { type: 'integer' },
        next_offset: { type: 'integer' },
      },
      required: ['id', 'size', 'kind'],
    },
    traits: { readOnly: true, idempotent: true },
    async run(asked, context, { snapshot }) {
      const source = await openResult(asked.id, context);
      // A page has the size that is shown inline, so that it does not become a stored result itself.
      const { inline } = snapshot.settings.results;
      try {
        return readPart(asked, source, inline, (size, text) => pagesOf(asked.id, source, size, text));
      } finally {
        source.close();
      }
    },
  });
}

type Pages = (size: number, text: boolean) => readonly number[];

function readPart(asked: Asked, source: StoredResult, pageBytes: number, pages: Pages) {
  const { page, offset, limit, lines } = asked;
  const ways = [page, offset ?? limit, lines].filter((way) => way !== undefined);
  if (ways.length > 1) {
    throw invalid('page, lines and offset cannot be combined', 'use page, or lines, or offset with limit');
  }
  const text = source.handle.kind !== 'binary';
  // Binary data is returned as base64, four characters for three bytes.
  const most = text ? pageBytes : Math.floor((pageBytes * 3) / 4);
  if (lines !== undefined) return readLines(source, lines, most);
  if (offset !== undefined || limit !== undefined) return readBytes(source, offset ?? 0, Math.min(limit ?? most, most));
  return readPage(source, page ?? 1, pages(most, text));
}

function readPage(source: StoredResult, page: number, starts: readonly number[]) {
  const { handle } = source;
  const hasShape = handle.kind === 'json';
  const total = starts.length - 1 + (hasShape ? 1 : 0);
  if (page > total) {
    throw invalid(`there is no page ${page}; the last is ${total}`, `give a page from 1 to ${total}`, { pages: total });
  }
  const facts = { page, pages: total };
  if (hasShape && page === 1) {
    const shape = handle.shape ?? '';
    return { content: [{ type: 'text' as const, text: shape }], structured: describe(source, facts) };
  }
  const at = page - (hasShape ? 2 : 1);
  return answer(source, { start: starts[at]!, end: starts[at + 1]! }, facts);
}

/** Returns lines of a result, at most `most` bytes. */
export function readLines(source: StoredResult, lines: string, most: number): Output {
  if (source.handle.kind === 'binary') {
    throw invalid('this result is binary and has no lines', 'read it by page, or by offset and limit');
  }
  const [first = 1, last = first] = lines.split('-').map(Number);
  if (last < first) {
    throw invalid(`lines ${lines} end before they start`, `give them as ${last}-${first}`);
  }
  const found = findLines(source, first, last);
  if (first > found.lines || source.size === 0) {
    const hint = `give lines from 1 to ${found.lines}`;
    throw invalid(`there is no line ${first}; the last is ${found.lines}`, hint, { lines: found.lines });
  }
  const end = found.end - found.start > most ? endOfPage(source, found.start, most) : found.end;
  return answer(source, { start: found.start, end }, { lines });
}

function readBytes(source: StoredResult, offset: number, limit: number) {
  if (offset > source.size) {
    const hint = `give an offset from 0 to ${source.size}`;
    throw invalid(`offset ${offset} is past the end at ${source.size}`, hint, { size: source.size });
  }
  const text = source.handle.kind !== 'binary';
  const start = text ? startOfCharacter(source, offset) : offset;
  const wanted = Math.min(start + limit, source.size);
  // A limit smaller than a character returns that character, so that reading makes progress.
  const end = text && wanted < source.size ? endOfWholeCharacters(source, start, wanted) : wanted;
  return answer(source, { start, end }, {});
}

/** The error of a request for something that a result does not have. */
export function invalid(message: string, hint: string, data?: JsonObject): ToolError {
  return new ToolError('invalid_input', message, { hint, data });
}

function endOfWholeCharacters(source: StoredResult, start: number, wanted: number): number {
  const end = startOfCharacter(source, wanted, start);
  if (end > start) return end;
  let next = wanted;
  while (next < source.size && ((source.read(next, 1)[0] ?? 0) & 0xc0) === 0x80) next++;
  return next;
}

function answer(source: StoredResult, { start, end }: Span, facts: JsonObject) {
  const bytes = Buffer.from(source.read(start, end - start));
  const part: Part =
    source.handle.kind === 'binary'
      ? {
          type: 'resource',
          resource: {
            uri: `wield://result/${source.handle.id}?offset=${start}`,
            mimeType: 'application/octet-stream',
            blob: bytes.toString('base64'),
          },
        }
      : { type: 'text', text: bytes.toString('utf8') };
  const next: JsonObject = end < source.size ? { next_offset: end } : {};
  return {
    content: [part],
    structured: describe(source, { ...facts, offset: start, bytes: bytes.length, ...next }),
  };
}

function describe({ handle, size }: StoredResult, facts: JsonObject): JsonObject {
  return { id: handle.id, size, kind: handle.kind, ...facts };
}

/** Opens a result of the caller's session. Throws `not_found`. */
export async function openResult(id: string, { store }: ToolContext): Promise<StoredResult> {
  const source = await store?.openResult(id);
  if (source !== undefined) return source;
  throw new ToolError('not_found', `result not found in this session: ${quoteOutside(id, 60)}`, {
    hint: 'results expire and belong to the session that created them; call the tool again',
  });
}
