// The built-in tool `query_result`: reduces a stored result by an expression, words or lines (CTX-4).

import { endOfPage } from '../context/paging.js';
import { MAX_DOCUMENT_BYTES, type QueryOptions } from '../context/query/run.js';
import { toChunks, toSnippet, toTerms } from '../context/store/search-terms.js';
import { answer } from '../context/tools/answer.js';
import { createQuery } from '../context/tools/query.js';
import { nextTurn } from '../core/async.js';
import { ToolError } from '../core/error.js';
import type { StoredResult } from '../core/store.js';
import { count, formatBytes } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { defineBuiltin } from '../formats/module/builtin.js';
import { invalid, openResult, readLines } from './read-result.js';

export const QUERY_RESULT = 'query_result';

interface Asked {
  readonly id: string;
  readonly query?: string;
  readonly search?: string;
  readonly lines?: string;
}

const WAYS = ['query', 'search', 'lines'] as const;
const LINES = /^[1-9][0-9]{0,9}(?:-[1-9][0-9]{0,9})?$/;
// Read at once; other calls are served in between.
const WINDOW = 1024 * 1024;
const MAX_PASSAGES = 20;

export function createQueryResultTool(options: QueryOptions): Tool {
  const evaluate = createQuery(options);
  return defineBuiltin<Asked>({
    name: QUERY_RESULT,
    description: 'Get what you need of a large result: query JSON, search for words, or read lines.',
    inputSchema: {
      type: 'object',
      properties: {
        id: { type: 'string', description: 'r_…' },
        query: { type: 'string', description: 'JSONata, as in $sum(amount); "?" shows the syntax' },
        search: { type: 'string', description: 'Words to find' },
        lines: { type: 'string', description: '"10" or "10-20"' },
      },
      required: ['id'],
    },
    traits: { readOnly: true, idempotent: true, positional: ['id', 'query'] },
    async run(asked, context, { snapshot }) {
      const { id, query, search, lines } = asked;
      const given = WAYS.filter((way) => asked[way] !== undefined);
      if (given.length !== 1) throw oneOf(given);
      const source = await openResult(id, context);
      try {
        if (query !== undefined) return await evaluate({ path: id, expression: query }, context);
        const { inline } = snapshot.settings.results;
        if (search !== undefined) return await searchIn(source, search, inline, context.signal);
        if (!LINES.test(lines!))
          throw invalid(
            `lines "${lines!.slice(0, 40)}" must be a line or a range`,
            'for example "10" or "10-20", from 1',
          );
        return readLines(source, lines!, inline);
      } finally {
        source.close();
      }
    },
  });
}

interface Passage {
  readonly line: number;
  /** Of its first byte. */
  readonly offset: number;
  readonly found: number;
  readonly text: string;
}

/** Returns the passages with the most of the words, best first. */
async function searchIn(source: StoredResult, words: string, most: number, signal: AbortSignal) {
  const terms = toTerms(words);
  if (terms.length === 0) throw invalid('search has no words', 'give words that occur in the result');
  assertSearchable(source);
  let best: Passage[] = [];
  let total = 0;
  for await (const passage of passagesOf(source, terms, signal)) {
    total++;
    best.push(passage);
    if (best.length >= 2 * MAX_PASSAGES) best = bestOf(best);
  }
  const { id } = source.handle;
  if (total === 0) return answer(`no line contains ${terms.join(' or ')}`, { id, matches: 0, passages: [] });
  const passages: { line: number; offset: number; text: string }[] = [];
  const shown: string[] = [];
  let left = most - 200;
  for (const { line, offset, text } of bestOf(best)) {
    const row = `${line}: ${text}  (offset ${offset})`;
    left -= row.length + 1;
    if (left < 0 && shown.length > 0) break;
    passages.push({ line, offset, text });
    shown.push(row);
  }
  const head = total > shown.length ? `${shown.length} of ${count(total, 'matching passage')}:\n` : '';
  return answer(head + shown.join('\n'), { id, matches: total, passages });
}

function bestOf(passages: readonly Passage[]): Passage[] {
  return [...passages].sort((a, b) => b.found - a.found || a.offset - b.offset).slice(0, MAX_PASSAGES);
}

// A passage is a line, or a part of a long one.
async function* passagesOf(source: StoredResult, terms: readonly string[], signal: AbortSignal) {
  let firstLine = 1;
  for (let at = 0; at < source.size; ) {
    const end = endOfPage(source, at, WINDOW);
    let offset = at;
    let line = firstLine;
    for (const row of Buffer.from(source.read(at, end - at))
      .toString('utf8')
      .split(/(?<=\n)/)) {
      for (const { text } of toChunks(row)) {
        const plain = text.normalize('NFKC').toLowerCase();
        const found = terms.filter((term) => plain.includes(term)).length;
        if (found > 0) yield { line, offset, found, text: toSnippet(text, terms) } satisfies Passage;
        offset += Buffer.byteLength(text);
      }
      if (row.endsWith('\n')) line++;
    }
    firstLine = line;
    at = end;
    await nextTurn();
    if (signal.aborted) return;
  }
}

function assertSearchable({ handle, size }: StoredResult): void {
  if (handle.kind === 'binary')
    throw invalid('this result is binary and has no words', 'read it with read_result, by page or by offset');
  if (size <= MAX_DOCUMENT_BYTES) return;
  throw new ToolError(
    'too_large',
    `the result is too large to search: ${formatBytes(size)}, limit ${formatBytes(MAX_DOCUMENT_BYTES)}`,
    { hint: 'read parts of it with lines', data: { size } },
  );
}

function oneOf(given: readonly string[]): ToolError {
  const what = given.length === 0 ? 'query, search or lines is missing' : `${given.join(' and ')} cannot be combined`;
  return invalid(what, 'give one of query (JSONata), search (words) and lines ("10-20")');
}
