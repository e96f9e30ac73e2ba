// The tools that list and search documents.

import type { ToolContext } from '../../core/context.js';
import { quoteOutside } from '../../core/text.js';
import { answer, describeVersion, formatSize, formatTime, storeOf, toTable } from './answer.js';
import type { Target } from './read.js';

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

interface SearchInput extends Partial<Target> {
  readonly query: string;
  readonly limit?: number;
}

export async function search({ query, path, limit = 10 }: SearchInput, context: ToolContext) {
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
