// Chooses the weights of search by leaving one data set out: those that are best on the other sets, scored on that one.
// Each set is scored alone and among the tools of all sets, beside tuned BM25 on the same queries, with the interval that
// contains 95 % of the differences in MRR of resampled queries. Run it with: node bench/search-weights.mjs

import { createToolSearch, WEIGHTS } from '../dist/catalog/search/tool-search.js';
import { createTunedBm25 } from './support/rankers.mjs';
import { readSets, sampleQueries, scoreRanking, toListing } from './support/retrieval.mjs';

const CHOICES = {
  name: [2, 2.5, 3],
  parameter: [0.5, 1],
  parameterDescription: [0, 0.125, 0.25, 0.5],
  server: [0.5, 1],
  about: [0.25, 0.5, 1],
};
// A ranking of 199 tools is known well enough from some of the queries.
const MAX_QUERIES = 800;
const RESAMPLES = 2000;

const { sets, reason } = readSets();
if (reason !== undefined) throw new Error(reason);

const combinations = Object.entries(CHOICES).reduce(
  (some, [field, values]) => some.flatMap((weights) => values.map((value) => ({ ...weights, [field]: value }))),
  [WEIGHTS],
);
const some = sets.map((set) => ({ ...set, queries: thin(set.queries) }));
const scored = combinations.map((weights) => ({ weights, scores: some.map((set) => score(set, weights)) }));
const goal = ({ recall5, mrr }) => (recall5 + mrr) / 2;
const best = sets.map((_, at) => Math.max(...scored.map(({ scores }) => goal(scores[at]))));

for (const [at, { name }] of sets.entries()) {
  const others = sets.map((_, index) => index).filter((index) => index !== at);
  const total = ({ scores }) => others.reduce((sum, index) => sum + goal(scores[index]) / best[index], 0);
  const chosen = scored.reduce((top, one) => (total(one) > total(top) ? one : top));
  console.log(name, JSON.stringify(chosen.weights));
  const crowded = { tools: sets.flatMap(({ tools }) => tools), queries: sampleQueries([sets[at]], 300) };
  for (const [label, set] of [
    ['alone', some[at]],
    ['among all', crowded],
  ])
    compare(label, set, chosen.weights);
}

function compare(label, { tools, queries }, weights) {
  const ours = toRanking(tools, weights);
  console.log(`  ${label}, ${queries.length} queries  ${show(scoreRanking(queries, ours))}`);
  for (const descriptions of [false, true]) {
    const bm25 = createTunedBm25(tools, { descriptions });
    const theirs = (query) => bm25(query, 100);
    const [low, high] = intervalOf(queries.map((query) => mrrOf(query, ours) - mrrOf(query, theirs)));
    console.log(
      `    BM25${descriptions ? ' with descriptions' : ''}  ${show(scoreRanking(queries, theirs))}  ${low} to ${high}`,
    );
  }
}

function show({ recall1, recall5, recall10, mrr }) {
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  return `R@1 ${percent(recall1)}  R@5 ${percent(recall5)}  R@10 ${percent(recall10)}  MRR ${mrr.toFixed(3)}`;
}

function mrrOf(query, rank) {
  return scoreRanking([query], rank).mrr;
}

// A fixed sequence, so that runs can be compared.
function intervalOf(differences) {
  let state = 7;
  const next = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return Math.floor((state / 2147483648) * differences.length);
  };
  const means = Array.from({ length: RESAMPLES }, () => {
    let sum = 0;
    for (let at = 0; at < differences.length; at++) sum += differences[next()];
    return sum / differences.length;
  }).sort((a, b) => a - b);
  return [0.025, 0.975].map((share) => means[Math.floor(share * RESAMPLES)].toFixed(3));
}

function thin(queries) {
  const step = Math.max(1, Math.floor(queries.length / MAX_QUERIES));
  return queries.filter((_, index) => index % step === 0);
}

function toRanking(tools, weights) {
  const listing = toListing(tools);
  const search = createToolSearch(weights);
  return (query) => search(listing, query, 100).map((tool) => tool.name);
}

function score({ tools, queries }, weights) {
  return scoreRanking(queries, toRanking(tools, weights));
}
