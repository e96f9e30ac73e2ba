// Measures how often two calls of `search_tools` with the defaults find all tools of a task, next to one call with the task
// itself, and the tokens of the second answer per tool that was needed, and writes docs/reports/search-recall.md. The second
// call has the steps of the task as queries: for LiveMCPBench those of support/task-steps.mjs, otherwise the clauses of the
// query, by fixed rules that no data set was used to choose. Run it with: npm run --silent build && node bench/recall.mjs

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { estimateTokens } from '../dist/core/text.js';
import { createNodeToolbox } from '../dist/node.js';
import { CORPORA, readSets, synthesizeTools } from './support/retrieval.mjs';
import { stepsOf } from './support/task-steps.mjs';
import { createWorkspace } from './support/workspace.mjs';

const MAX_CLAUSES = 5;
const MAX_QUERIES = 100;
const MANY = 15_000;
const MODEL = { caller: { kind: 'model', door: 'bench' } };
const ROOT = resolve(fileURLToPath(new URL('..', import.meta.url)));
const { sets, reason } = readSets();
if (reason !== undefined) throw new Error(reason);
const file = join(CORPORA, 'schemas/mcp-tools.jsonl');
const catalog = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n').map(toCatalogTool) : [];
const { dir, env } = createWorkspace(0);

function toCatalogTool(line, at) {
  const { server, name, description, inputSchema } = JSON.parse(line);
  return { name: `${server}_${name}_${at}`, tool: name, description, parameters: inputSchema, server };
}

// Sentences, and what conjunctions and commas join, if it has at least three words.
function toClauses(query) {
  const clauses = query
    .split(/[.?!;:,\n]+\s*|\s+(?:and|then|also|or|but)\s+/i)
    .map((clause) => clause.trim())
    .filter((clause) => clause.split(/\s+/).length >= 3);
  return clauses.length === 0 ? [query] : clauses.slice(0, MAX_CLAUSES);
}

/** Returns a function that calls `search_tools`, with the names of the data set. */
function createSearch(tools) {
  const names = new Map();
  const definitions = tools.flatMap(({ name, description, parameters }) => {
    const called = name
      .replace(/[^\w-]/g, '-')
      .replace(/^-+/, '')
      .slice(0, 64);
    if (names.has(called)) return [];
    names.set(called, name);
    const inputSchema = { ...parameters, type: 'object' };
    return [{ name: called, description: description?.trim() || called, inputSchema, execute: () => name }];
  });
  const toolbox = createNodeToolbox({ workdir: dir, env, tools: definitions, mode: 'search' });
  return async (queries) => {
    const { content, structured } = await toolbox.call('search_tools', { queries }, MODEL);
    return { names: structured.tools.map((name) => names.get(name)), tokens: estimateTokens(content[0].text) };
  };
}

const countFound = ({ gold, gold_any: groups = gold.map((name) => [name]) }, names) => {
  const found = groups.filter((group) => group.some((name) => names.includes(name))).length;
  return { found, isComplete: found === groups.length };
};

async function measure({ name, queries }, tools) {
  const search = createSearch(tools);
  let [once, twice, found, tokens] = [0, 0, 0, 0];
  const step = Math.ceil(queries.length / MAX_QUERIES);
  const measured = queries.filter((_, at) => at % step === 0);
  for (const query of measured) {
    const first = await search([query.query]);
    const second = await search(stepsOf(query.query) ?? toClauses(query.query));
    once += countFound(query, first.names).isComplete;
    twice += countFound(query, [...first.names, ...second.names]).isComplete;
    found += countFound(query, second.names).found;
    tokens += second.tokens;
  }
  const percent = (count) => `${((100 * count) / measured.length).toFixed(1)} %`;
  const shown = [name, measured.length, tools.length, percent(once), percent(twice), Math.round(tokens / found)];
  console.log(`| ${shown.join(' | ')} |`);
  return `| ${shown.join(' | ')} |`;
}

const rows = [];
for (const set of sets) {
  const others = [...sets.filter((other) => other !== set).flatMap(({ tools }) => tools), ...catalog];
  rows.push(await measure(set, set.tools));
  rows.push(await measure(set, [...set.tools, ...synthesizeTools([{ tools: others }], Math.max(MANY, others.length))]));
}
writeFileSync(
  join(ROOT, 'docs/reports/search-recall.md'),
  `# Recall of search

How often \`search_tools\` finds all tools of a task with its defaults, in public data sets, written by \`node bench/recall.mjs\`.
Each set is searched alone, and among the tools of the other sets and of public servers, repeated under other names until
there are ${MANY.toLocaleString('en')}. One search: the task as it is. Two: then its steps as up to five queries. The steps of
LiveMCPBench were written by hand from its tasks; for the other sets they are the clauses of the query, by rules that
were not chosen with these data sets. The last column has the tokens of the second answer per needed tool in it.

| data set | tasks | tools | one search | two searches | tokens |
|---|---|---|---|---|---|
${rows.join('\n')}
`,
);
