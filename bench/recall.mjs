// Measures how often two calls of `search_tools` find all expected tools of a query, next to one call with the raw query, and
// writes docs/reports/search-recall.md. The second call asks for each clause of the query, by fixed rules that no data set
// was used to choose. Run it with: npm run --silent build && node bench/recall.mjs

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mergeByRank } from '../dist/builtin/search-functions.js';
import { createToolSearch } from '../dist/catalog/search/tool-search.js';
import { CORPORA, readSets, toListing } from './support/retrieval.mjs';

const LIMIT = 10;
const MAX_CLAUSES = 5;
const ROOT = resolve(fileURLToPath(new URL('..', import.meta.url)));
const { sets, reason } = readSets();
if (reason !== undefined) throw new Error(reason);
const file = join(CORPORA, 'schemas/mcp-tools.jsonl');
const catalog = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(toCatalogTool) : [];

function toCatalogTool(line, at) {
  const { server, name, description, inputSchema } = JSON.parse(line);
  return { name: `${server}_${name}_${at}`, description: description ?? '', parameters: inputSchema ?? {}, server };
}

// Sentences, and what conjunctions and commas join, if it has at least three words.
function toClauses(query) {
  const clauses = query
    .split(/[.?!;:,\n]+\s*|\s+(?:and|then|also|or|but)\s+/i)
    .map((clause) => clause.trim())
    .filter((clause) => clause.split(/\s+/).length >= 3);
  return clauses.length === 0 ? [query] : clauses.slice(0, MAX_CLAUSES);
}

function createSearchTools(tools) {
  const listing = toListing(tools);
  const search = createToolSearch();
  return (queries) =>
    mergeByRank(
      queries,
      queries.map((query) => search(listing, query, LIMIT)),
    )
      .slice(0, LIMIT)
      .map(({ name }) => name);
}

const isFound = ({ gold, gold_any: groups = gold.map((name) => [name]) }, names) =>
  groups.every((group) => group.some((name) => names.has(name)));

function measure({ name, queries }, tools) {
  const search = createSearchTools(tools);
  let [once, twice] = [0, 0];
  for (const query of queries) {
    const first = search([query.query]);
    once += isFound(query, new Set(first));
    twice += isFound(query, new Set([...first, ...search(toClauses(query.query))]));
  }
  const percent = (found) => `${((100 * found) / queries.length).toFixed(1)} %`;
  const row = `| ${name} | ${queries.length} | ${tools.length} | ${percent(once)} | ${percent(twice)} |`;
  console.log(row);
  return row;
}

const everything = [...sets.flatMap(({ tools }) => tools), ...catalog];
const rows = sets.flatMap((set) => [measure(set, set.tools), measure(set, everything)]);
writeFileSync(
  join(ROOT, 'docs/reports/search-recall.md'),
  [
    '# Recall of search',
    '',
    'How often `search_tools` finds all tools that a query needs, in public data sets, written by `node bench/recall.mjs`. Each',
    'set is searched alone, and among the tools of all sets and of a collection of public servers. One search: the raw query,',
    `${LIMIT} hits. Two: then its clauses as up to ${MAX_CLAUSES} queries, ${LIMIT} more hits. A model writes better queries; the rules for clauses`,
    'were not chosen with these data sets.',
    '',
    '| data set | queries | tools | one search | two searches |',
    '|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n'),
);
