// The context tool query: reduces a JSON document or a large result with an expression (CTX-30).

import type { ToolContext } from '../../core/context.js';
import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { isLargeJson } from '../../core/json-size.js';
import { textPart } from '../../core/result.js';
import type { ContentKind, ContextStore, Handle, Readable } from '../../core/store.js';
import { formatBytes, quoteOutside } from '../../core/text.js';
import { createQueryRunner, MAX_DOCUMENT_BYTES, QUERY_REFERENCE, type QueryOptions } from '../query/run.js';
import { answer, assertFree, type OnConflict, storeOf } from './answer.js';

interface QueryInput {
  readonly path: string;
  readonly expression?: string;
  readonly output_path?: string;
  readonly max_input_bytes?: number;
  readonly on_conflict?: OnConflict;
}

// Shorter results are indented.
const PRETTY_BYTES = 4000;

export function createQuery(options: QueryOptions) {
  const evaluate = createQueryRunner(options);
  return async (input: QueryInput, context: ToolContext) => {
    const { path, expression = '', output_path: target, on_conflict, max_input_bytes: limit } = input;
    if (/^\s*\??\s*$/.test(expression)) return answer(QUERY_REFERENCE, { reference: QUERY_REFERENCE });
    const store = storeOf(context);
    const overwrite = on_conflict === 'overwrite';
    if (target !== undefined && !overwrite) await assertFree(store, target);
    const source = await open(store, path);
    try {
      assertText(path, source);
      assertSize(path, source, Math.min(limit ?? MAX_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES));
      const { size, file } = source;
      const bytes = () => source.read(0, size);
      const { type, count, json } = await evaluate({ expression, size, file, bytes, signal: context.signal });
      const facts = { result_type: type, ...(count === undefined ? {} : { result_count: count }) };
      if (target === undefined) return show(json, facts);
      if (json === undefined) throw noResult(target);
      const written = await store.documents.write(target, json, { overwrite });
      return answer(`wrote ${written.path}: ${formatBytes(json.length)}, ${describe(type, count)}`, {
        path: written.path,
        bytes_written: json.length,
        ...facts,
      });
    } finally {
      source.close();
    }
  };
}

interface Source extends Readable {
  /** That of a document. */
  readonly kind?: ContentKind;
  /** That of a stored result. */
  readonly handle?: Handle;
  readonly file?: string | undefined;
  close(): void;
}

// Opens a result of this session, else a document; an unknown id is not found as a path either.
async function open({ openResult, documents }: ContextStore, path: string): Promise<Source> {
  const result = path.startsWith('r_') ? await openResult(path) : undefined;
  return result ?? (await documents.open(path));
}

function assertText(path: string, { kind, handle }: Source): void {
  if ((handle?.kind ?? kind) !== 'binary') return;
  throw new ToolError('invalid_input', `${quoteOutside(path)} is binary, and not JSON`, {
    hint: handle === undefined ? 'read it with context_read' : 'read it with read_result, by page or by offset',
  });
}

function assertSize(path: string, { size }: Source, limit: number): void {
  if (size <= limit) return;
  throw new ToolError(
    'too_large',
    `${quoteOutside(path)} is too large to query: ${formatBytes(size)}, limit ${formatBytes(limit)}`,
    { hint: 'make the tool that created it return less at once', data: { size } },
  );
}

function show(json: Buffer | undefined, facts: { readonly [key: string]: Json }) {
  if (json === undefined) return answer('no result: nothing in the document matches', { result: null, ...facts });
  const text = json.toString('utf8');
  // Too large to be read here: only text.
  if (isLargeJson(text)) return { content: [textPart(text)] };
  const result = JSON.parse(text) as Json;
  return {
    content: [textPart(text.length <= PRETTY_BYTES ? JSON.stringify(result, null, 2) : text)],
    structured: { result, ...facts },
  };
}

function noResult(target: string): ToolError {
  return new ToolError('invalid_input', `the expression has no result, so ${quoteOutside(target)} was not written`, {
    hint: 'try it without output_path first',
  });
}

function describe(type: string, count: number | undefined): string {
  return count === undefined ? `of type ${type}` : `${type} of ${count}`;
}
