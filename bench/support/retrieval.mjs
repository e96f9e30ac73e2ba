// Public sets of tools with queries and the tools that answer them, and how well a ranking finds those.

import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const CORPORA =
  process.env.WIELD_CORPORA ?? resolve(fileURLToPath(new URL('../../..', import.meta.url)), 'shared/corpora');
const SETS = ['livemcp', 'metatool', 'stabletoolbench'];

/** The sets, or the reason why there are none. */
export function readSets() {
  const missing = SETS.find((set) => !existsSync(resolve(CORPORA, 'retrieval', set, 'tools.jsonl')));
  if (missing !== undefined) return { sets: [], reason: `no set ${missing} in ${CORPORA}/retrieval` };
  const sets = SETS.map((name) => {
    const lines = (file) =>
      readFileSync(resolve(CORPORA, 'retrieval', name, file), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    return { name, tools: lines('tools.jsonl'), queries: lines('queries.jsonl') };
  });
  return { sets, reason: undefined };
}

/** Tools of a set as a catalog lists them; what a server says of itself is what a skill would. */
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
    skills: [...about].map(([directory, description]) => ({ directory, description })),
  };
}

/**
 * Recall at 1, 5 and 10, and the mean reciprocal rank of the first right tool. Where a query names alternatives
 * (`gold_any`), any of a group will do.
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

/** So many tools made of all sets, mixed, each with a name of its own. */
export function synthesizeTools(sets, count) {
  const all = sets.flatMap((set) => set.tools);
  // A step without a common divisor visits all of them, short and long ones mixed.
  const at = (index) => all[(index * 1009) % all.length];
  return Array.from({ length: count }, (_, index) => {
    const tool = at(index);
    const round = Math.floor(index / all.length);
    if (round === 0) return tool;
    const other = at(index + round);
    return { ...tool, name: `${other.server ?? other.name}_${tool.tool ?? tool.name}_${round}` };
  });
}

/** So many queries of all sets. */
export function sampleQueries(sets, perSet) {
  return sets.flatMap(({ queries }) => {
    const step = Math.max(1, Math.floor(queries.length / perSet));
    return queries.filter((_, index) => index % step === 0).slice(0, perSet);
  });
}
