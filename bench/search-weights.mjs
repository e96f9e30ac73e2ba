// Chooses the weights of search by leaving one data set out: those that are best on the other sets, scored on that one.
// Run it with: node bench/search-weights.mjs

import { createToolSearch, WEIGHTS } from '../dist/catalog/search/tool-search.js';
import { readSets, scoreRanking, toListing } from './support/retrieval.mjs';

const CHOICES = {
  name: [2, 2.5, 3],
  parameter: [0.5, 1],
  parameterDescription: [0, 0.125, 0.25, 0.5],
  server: [0.5, 1],
  about: [0.25, 0.5, 1],
};
// A ranking of 199 tools is known well enough from some of the queries.
const MAX_QUERIES = 800;

const { sets, reason } = readSets();
if (reason !== undefined) throw new Error(reason);

const combinations = Object.entries(CHOICES).reduce(
  (some, [field, values]) => some.flatMap((weights) => values.map((value) => ({ ...weights, [field]: value }))),
  [WEIGHTS],
);
const scored = combinations.map((weights) => ({ weights, scores: sets.map((set) => score(set, weights)) }));
const goal = ({ recall5, mrr }) => (recall5 + mrr) / 2;
const best = sets.map((_, at) => Math.max(...scored.map(({ scores }) => goal(scores[at]))));

for (const [at, { name }] of sets.entries()) {
  const others = sets.map((_, index) => index).filter((index) => index !== at);
  const total = ({ scores }) => others.reduce((sum, index) => sum + goal(scores[index]) / best[index], 0);
  const chosen = scored.reduce((top, one) => (total(one) > total(top) ? one : top));
  const { recall1, recall5, recall10, mrr } = chosen.scores[at];
  const percent = (value) => `${(100 * value).toFixed(1)} %`;
  console.log(name, JSON.stringify(chosen.weights));
  console.log(`  R@1 ${percent(recall1)}  R@5 ${percent(recall5)}  R@10 ${percent(recall10)}  MRR ${mrr.toFixed(3)}`);
}

function score({ tools, queries }, weights) {
  const listing = toListing(tools);
  const search = createToolSearch(weights);
  const step = Math.max(1, Math.floor(queries.length / MAX_QUERIES));
  const some = queries.filter((_, index) => index % step === 0);
  return scoreRanking(some, (query) => search(listing, query, 100).map((tool) => tool.name));
}
