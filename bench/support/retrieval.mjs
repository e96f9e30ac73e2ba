// Public data sets of tools and queries with the expected tools, and scores of a ranking.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sized } from './measure.mjs';

export const CORPORA =
  process.env.WIELD_CORPORA ?? resolve(fileURLToPath(new URL('../../..', import.meta.url)), 'shared/corpora');
const SETS = ['livemcp', 'metatool', 'stabletoolbench'];
// The set of a quick run, which needs no data.
const SAMPLE = {
  name: 'sample',
  tools: ['read_file', 'send_mail', 'list_issues', 'convert_currency'].map((name) => ({
    name,
    description: `Tool to ${name.replace('_', ' a ')}.`,
  })),
  queries: [{ query: 'send someone a mail', gold: ['send_mail'] }],
};

/** Returns the data sets, or the reason why there are none. */
export function readSets() {
  return sized(readCorpora, () => ({ sets: [SAMPLE] }))();
}

function readCorpora() {
  const missing = SETS.find((set) => !existsSync(resolve(CORPORA, 'retrieval', set, 'tools.jsonl')));
  if (missing !== undefined) return { sets: [], reason: `data set ${missing} not found in ${CORPORA}/retrieval` };
  const sets = SETS.map((name) => {
    const lines = (file) =>
      readFileSync(resolve(CORPORA, 'retrieval', name, file), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    return { name, tools: lines('tools.jsonl'), queries: lines('queries.jsonl') };
  });
  return { sets };
}

/** Converts the tools of a set to a catalog listing; a server's description becomes that of a skill. */
export function toListing(tools) {
  const about = new Map(tools.map((tool) => [tool.server ?? '', tool.server_description ?? '']));
  return {
    tools: tools.map(({ name, description = '', parameters = {}, server = null }) => ({
      name,
      description,
      input: { json: parameters },
      traits: { tags: [], hidden: false },
      origin: { server, directory: server },
    })),
    skills: [...about].map(([directory, description]) => ({ directory, description, file: `${directory}/SKILL.md` })),
  };
}

/**
 * Returns recall at 1, 5 and 10, and the mean reciprocal rank of the first expected tool. If a query has alternatives
 * (`gold_any`), one tool of each group is enough.
 */
export function scoreRanking(queries, rank) {
  const sums = { recall1: 0, recall5: 0, recall10: 0, mrr: 0 };
  for (const { query, gold, gold_any: groups = gold.map((name) => [name]) } of queries) {
    const hits = rank(query);
    const ranks = groups.map((group) => hits.findIndex((name) => group.includes(name)) + 1 || Infinity);
    const within = (limit) => ranks.filter((place) => place <= limit).length / groups.length;
    sums.recall1 += within(1);
    sums.recall5 += within(5);
    sums.recall10 += within(10);
    sums.mrr += 1 / Math.min(...ranks);
  }
  return Object.fromEntries(Object.entries(sums).map(([name, sum]) => [name, sum / queries.length]));
}

/** Creates `count` tools with unique names from all sets. */
export function synthesizeTools(sets, count) {
  const all = sets.flatMap((set) => set.tools);
  // A prime step visits all tools, short and long ones mixed.
  const at = (index) => all[(index * 1009) % all.length];
  return Array.from({ length: count }, (_, index) => {
    const tool = at(index);
    const round = Math.floor(index / all.length);
    if (round === 0) return tool;
    const other = at(index + round);
    return { ...tool, name: `${other.server ?? other.name}_${tool.tool ?? tool.name}_${round}` };
  });
}

/** Returns up to `perSet` queries of each set. */
export function sampleQueries(sets, perSet) {
  return sets.flatMap(({ queries }) => {
    const step = Math.max(1, Math.floor(queries.length / perSet));
    return queries.filter((_, index) => index % step === 0).slice(0, perSet);
  });
}
