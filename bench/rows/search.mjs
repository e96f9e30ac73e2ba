// Row search: how well search finds the right tools of public sets, and what an index and a query cost.

import { createToolSearch } from '../../dist/resolve/tool-search.js';
import { measureRounds, ratios, spread } from '../support/measure.mjs';
import { createMiniSearch, createPlainBm25, createTunedBm25 } from '../support/rankers.mjs';
import { readSets, sampleQueries, scoreRanking, synthesizeTools, toListing } from '../support/retrieval.mjs';

const BUILD_TARGET = { of: 'value', atMost: 25, unit: 'µs a tool' };
const QUERY_TARGET = { of: 'value', atMost: 3, unit: 'ms' };
const COUNTS = [1000, 10_000, 100_000];
const ROUNDS = 5;
const DEPTH = 100;
const METRICS = { recall1: 'R@1', recall5: 'R@5', recall10: 'R@10', mrr: 'MRR' };

export const row = {
  id: 'search',
  title: 'search: what is found, and how fast',
  async run() {
    const { sets, reason } = readSets();
    if (reason !== undefined) {
      console.error(`  left out: ${reason}`);
      return [];
    }
    const cases = sets.flatMap(measureQuality);
    for (const count of COUNTS) cases.push(...(await measureSpeed(sets, count)));
    return cases;
  },
};

function createOurs(tools) {
  const listing = toListing(tools);
  const search = createToolSearch(() => listing);
  return (query, limit) => search(query, limit).map((tool) => tool.name);
}

function measureQuality({ name, tools, queries }) {
  const ours = createOurs(tools);
  for (const tool of tools) {
    const [first] = ours(tool.name, 1);
    if (first !== tool.name)
      throw new Error(`${name}: ${tool.name} is not first for its own name, ${first} is`);
  }
  const score = (rank) => scoreRanking(queries, (query) => rank(query, DEPTH));
  const scores = {
    wield: score(ours),
    'plain BM25': score(createPlainBm25(tools)),
    'tuned BM25': score(createTunedBm25(tools)),
    MiniSearch: score(createMiniSearch(tools)),
  };
  const isMet = Object.keys(METRICS).every((metric) => scores.wield[metric] >= scores['tuned BM25'][metric]);
  return Object.entries(scores).map(([ranker, scored]) => ({
    case: `${name}, ${ranker}`,
    shown: Object.entries(METRICS)
      .map(([metric, label]) => `${label} ${format(metric, scored[metric])}`)
      .join('  '),
    scores: scored,
    ...(ranker === 'wield' ? { goal: { text: '≥ tuned BM25', met: isMet } } : {}),
  }));
}

function format(metric, value) {
  return metric === 'mrr' ? value.toFixed(3) : `${(100 * value).toFixed(1)} %`;
}

async function measureSpeed(sets, count) {
  const listing = toListing(synthesizeTools(sets, count));
  const queries = sampleQueries(sets, 200).map(({ query }) => query);
  const search = createToolSearch(() => listing);
  const percentile95 = (ask) => {
    const times = queries.map((query) => time(() => ask(query))).sort((a, b) => a - b);
    return times[Math.floor(times.length * 0.95)];
  };
  const samples = await measureRounds(
    {
      floor: () => (time(() => countWords(listing.tools)) * 1000) / count,
      // The first query makes the index.
      build: () => (time(() => createToolSearch(() => listing)('one', 1)) * 1000) / count,
      query: () => percentile95((query) => search(query, 10)),
    },
    ROUNDS,
  );
  const size = count.toLocaleString('en');
  return [
    {
      case: `splitting and counting, ${size} tools (floor)`,
      value: spread(samples.floor),
      unit: 'µs a tool',
    },
    {
      case: `building the index, ${size} tools`,
      value: spread(samples.build),
      unit: 'µs a tool',
      ratio: ratios(samples.build, samples.floor),
      target: BUILD_TARGET,
    },
    {
      case: `95th percentile of a query, ${size} tools`,
      value: spread(samples.query),
      unit: 'ms',
      target: QUERY_TARGET,
    },
  ];
}

// Milliseconds of CPU: what else runs on the machine does not count.
function time(run) {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function countWords(tools) {
  const counts = new Map();
  for (const { name, description, input } of tools) {
    const parameters = Object.entries(input.json.properties ?? {}).flat();
    for (const text of [name, description, ...parameters.map((part) => part.description ?? String(part))]) {
      for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
        counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return counts;
}
