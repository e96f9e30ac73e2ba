// Row search: how well search finds the right tools of public data sets, and the cost of an index and a query.

import { createToolSearch } from '../../dist/catalog/search/tool-search.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createMiniSearch, createPlainBm25, createTunedBm25 } from '../support/rankers.mjs';
import { readSets, sampleQueries, scoreRanking, synthesizeTools, toListing } from '../support/retrieval.mjs';

const BUILD_TARGET = { of: 'value', atMost: 60, unit: 'µs a tool' };
// For up to 10,000 tools.
const QUERY_TARGET = { of: 'value', atMost: 2, unit: 'ms' };
const COUNTS = sized([1000, 10_000, 100_000], [100]);
const ROUNDS = 7;
const DEPTH = 100;
const METRICS = { recall1: 'R@1', recall5: 'R@5', recall10: 'R@10', mrr: 'MRR' };

export const row = {
  id: 'search',
  title: 'search: quality of results, and speed',
  async run() {
    const { sets, reason } = readSets();
    if (reason !== undefined) {
      console.error(`  left out: ${reason}`);
      return [];
    }
    // Each set alone, and among the tools of all sets.
    const all = sets.flatMap(({ tools }) => tools);
    const crowded =
      sets.length > 1
        ? sets.map((set) => ({ name: `${set.name} among all`, tools: all, queries: sampleQueries([set], 300) }))
        : [];
    return [...sets.flatMap(measureQuality), ...crowded.flatMap(measureQuality), ...(await measureSpeed(sets))];
  },
};

function createOurs(tools) {
  const listing = toListing(tools);
  const search = createToolSearch();
  return (query, limit) => search(listing, query, limit).map((tool) => tool.name);
}

function measureQuality({ name, tools, queries }) {
  const ours = createOurs(tools);
  for (const tool of tools) {
    const [first] = ours(tool.name, 1);
    if (first !== tool.name) throw new Error(`${name}: searching for ${tool.name} finds ${first} first`);
  }
  const score = (rank) => scoreRanking(queries, (query) => rank(query, DEPTH));
  const scores = {
    wield: score(ours),
    'plain BM25': score(createPlainBm25(tools)),
    'tuned BM25': score(createTunedBm25(tools)),
    'tuned BM25, descriptions': score(createTunedBm25(tools, { descriptions: true })),
    MiniSearch: score(createMiniSearch(tools)),
  };
  const isMet = Object.keys(METRICS).every((metric) => scores.wield[metric] >= scores['tuned BM25'][metric]);
  return Object.entries(scores).map(([ranker, scored]) => ({
    case: `${name}, ${ranker}`,
    shown: Object.entries(METRICS)
      .map(([metric, label]) => `${label} ${format(metric, scored[metric])}`)
      .join('  '),
    scores: scored,
    goal: ranker === 'wield' ? { text: '≥ tuned BM25', met: isMet } : undefined,
  }));
}

function format(metric, value) {
  return metric === 'mrr' ? value.toFixed(3) : `${(100 * value).toFixed(1)} %`;
}

async function measureSpeed(sets) {
  const queries = sampleQueries(sets, 200).map(({ query }) => query);
  const sizes = COUNTS.map((count) => {
    const listing = toListing(synthesizeTools(sets, count));
    return { count, listing, search: createToolSearch() };
  });
  const samples = await measureRounds(
    Object.fromEntries(
      sizes.flatMap(({ count, listing, search }) => [
        [`floor ${count}`, () => (time(() => countWords(listing.tools)) * 1000) / count],
        // The first query builds the index.
        [`build ${count}`, () => (time(() => createToolSearch()(listing, 'one', 1)) * 1000) / count],
        [`query ${count}`, () => percentile95(queries.map((query) => time(() => search(listing, query, 10))))],
      ]),
    ),
    ROUNDS,
  );
  return COUNTS.flatMap((count) => {
    const size = count.toLocaleString('en');
    const [floor, build, query] = ['floor', 'build', 'query'].map((name) => samples[`${name} ${count}`]);
    return [
      { case: `splitting and counting, ${size} tools (floor)`, value: spread(floor), unit: 'µs a tool' },
      {
        case: `building the index, ${size} tools`,
        value: spread(build),
        unit: 'µs a tool',
        ratio: ratios(build, floor),
        target: BUILD_TARGET,
      },
      {
        case: `95th percentile of a query, ${size} tools`,
        value: spread(query),
        unit: 'ms',
        target: count <= 10_000 ? QUERY_TARGET : undefined,
      },
    ];
  });
}

function percentile95(times) {
  const sorted = times.sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.95)];
}

// CPU time in milliseconds, so that other load on the machine does not count.
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
      for (const word of text.toLowerCase().match(/[a-z0-9]+/g) ?? []) counts.set(word, (counts.get(word) ?? 0) + 1);
    }
  }
  return counts;
}
