// Full-text search index: BM25 over weighted fields, exact names first.

import { compareText } from '../../core/text.js';
import { stem, toAllWords, toWords } from './words.js';

/**
 * Adds a text of an entry with the weight of its words. In an ordered text, two adjacent words score more if they are
 * adjacent in the query too.
 */
export type AddText = (text: string, weight: number, ordered?: boolean) => void;

interface Named {
  readonly name: string;
}

export interface SearchHit {
  /** Index in the list of entries. */
  readonly at: number;
  readonly name: string;
  readonly score: number;
}

export interface SearchIndex {
  /** Returns the best entries for a query, best first; for several queries, the best of each in turn. */
  search(query: string | readonly string[], limit: number): SearchHit[];
}

/** The score of each entry that a query found. */
type Scores = Map<number, number>;
/** The weight of a term in each entry that contains it. */
type Postings = Map<number, number>;
const NOWHERE: ReadonlyMap<number, number> = new Map();

// BM25 parameters: saturation of repeated words, and strength of length normalisation.
const K1 = 1.2;
const B = 0.75;
// Saturation of repeated words in a query.
const K3 = 1;
// Extra weight of an exact spelling and of adjacent words, relative to a matching stem.
const EXACT_SPELLING = 0.5;
const ADJACENT = 0.25;
// Above any sum of words.
const NAME_SCORE = Number.MAX_VALUE;

/** `familyOf` returns the server or group of an entry, for searches with several queries. */
export function createSearchIndex<Entry extends Named>(
  entries: readonly Entry[],
  addTexts: (entry: Entry, add: AddText) => void,
  familyOf: (entry: Entry) => string = ({ name }) => name,
): SearchIndex {
  const { words, stems, pairs, lengths } = collect(entries, addTexts);
  const names = groupNames(entries);
  const families = entries.map(familyOf);
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, entries.length) || 1;

  const scoreWith = (scores: Scores, postings: ReadonlyMap<number, number>, factor: number): void => {
    const rarity = Math.log(1 + (entries.length - postings.size + 0.5) / (postings.size + 0.5));
    for (const [at, weight] of postings) {
      const norm = K1 * (1 - B + (B * lengths[at]!) / average);
      const term = (weight * (K1 + 1)) / (weight + norm);
      scores.set(at, (scores.get(at) ?? 0) + factor * rarity * term);
    }
  };

  // Words with the same stem count as one term.
  const postingsOf = (root: string): Postings => mergePostings((stems.get(root) ?? []).map((word) => words.get(word)!));

  // Stop words are not in the index, but a name may begin with one, such as `get_user`.
  const scoreStopWords = (query: string): Scores => {
    const queried = new Set(toAllWords(query));
    const found = entries.map(({ name }) => toAllWords(name).filter((word) => queried.has(word)).length);
    return new Map([...found.entries()].filter(([, count]) => count > 0));
  };

  const scoreWords = (query: string): Scores => {
    const scores: Scores = new Map();
    const queried = toWords(query);
    if (queried.length === 0) return scoreStopWords(query);
    for (const [root, times] of countOf(queried.map(stem))) {
      scoreWith(scores, postingsOf(root), saturateRepeats(times));
      // `filesystem` finds `file_system`.
      scoreWith(scores, pairs.get(root) ?? NOWHERE, 1);
    }
    for (const [word, times] of countOf(queried))
      scoreWith(scores, words.get(word) ?? NOWHERE, EXACT_SPELLING * saturateRepeats(times));
    for (const pair of new Set(joinAdjacent(queried))) {
      scoreWith(scores, pairs.get(pair) ?? NOWHERE, ADJACENT);
      // `cash flow` finds `cashflow`.
      scoreWith(scores, postingsOf(pair), 1);
    }
    return scores;
  };

  // An exact name comes first, then names that differ in case and punctuation only.
  const scoreNames = (scores: Scores, query: string): void => {
    for (const at of names.get(nameKey(query)) ?? [])
      scores.set(at, entries[at]!.name === query.trim() ? Number.POSITIVE_INFINITY : NAME_SCORE);
  };

  return {
    search(query, limit) {
      const queries = typeof query === 'string' ? [query] : query;
      const scored = queries.map(scoreWords);
      if (scored.length > 1) raiseFamilies(scored, families);
      const rankings = scored.map((scores, nth) => {
        scoreNames(scores, queries[nth]!);
        const hits = [...scores].map(([at, score]) => ({ at, name: entries[at]!.name, score }));
        return hits.sort(byScore).slice(0, limit);
      });
      return mergeByRank(rankings).slice(0, limit);
    },
  };
}

function collect<Entry>(entries: readonly Entry[], addTexts: (entry: Entry, add: AddText) => void) {
  const words = new Map<string, Postings>();
  // The words of each stem.
  const stems = new Map<string, string[]>();
  // Stems of two adjacent words of ordered texts, joined.
  const pairs = new Map<string, Postings>();
  // Weighted number of words of each entry.
  const lengths: number[] = [];
  const countIn = (counts: Map<string, Postings>, key: string, at: number, weight: number): boolean => {
    const known = counts.get(key);
    if (known === undefined) counts.set(key, new Map([[at, weight]]));
    else known.set(at, (known.get(at) ?? 0) + weight);
    return known === undefined;
  };
  entries.forEach((entry, at) => {
    let length = 0;
    addTexts(entry, (text, weight, ordered = false) => {
      const found = toWords(text);
      length += found.length * weight;
      for (const word of found) {
        if (!countIn(words, word, at, weight)) continue;
        const root = stem(word);
        stems.set(root, [...(stems.get(root) ?? []), word]);
      }
      if (ordered) for (const pair of joinAdjacent(found)) countIn(pairs, pair, at, weight);
    });
    lengths.push(length);
  });
  return { words, stems, pairs, lengths };
}

function mergePostings(all: readonly Postings[]): Postings {
  if (all.length === 1) return all[0]!;
  const merged: Postings = new Map();
  for (const postings of all) for (const [at, weight] of postings) merged.set(at, (merged.get(at) ?? 0) + weight);
  return merged;
}

// As a compound would be stemmed.
function joinAdjacent(words: readonly string[]): string[] {
  return words.slice(1).map((word, before) => stem(words[before]! + word));
}

function countOf(terms: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
  return counts;
}

function saturateRepeats(times: number): number {
  return ((K3 + 1) * times) / (K3 + times);
}

function groupNames(entries: readonly Named[]): Map<string, number[]> {
  const names = new Map<string, number[]>();
  entries.forEach(({ name }, at) => {
    const key = nameKey(name);
    names.set(key, [...(names.get(key) ?? []), at]);
  });
  return names;
}

// Equal for names that differ in case and punctuation only.
function nameKey(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

function byScore(a: SearchHit, b: SearchHit): number {
  if (a.score === b.score) return compareText(a.name, b.name);
  return a.score > b.score ? -1 : 1;
}

// Raises the scores of entries whose family another query found too, up to twofold: the steps of a task often use several
// tools of one server.
function raiseFamilies(scored: readonly Scores[], families: readonly string[]): void {
  const shares = scored.map((scores) => toShares(scores, families));
  for (const [at, scores] of scored.entries()) {
    const others = shares.filter((_, other) => other !== at);
    for (const [entry, score] of scores) {
      const support = Math.max(...others.map((share) => share.get(families[entry]!) ?? 0));
      scores.set(entry, score * (1 + support));
    }
  }
}

// The best score of each family, relative to the best of all.
function toShares(scores: Scores, families: readonly string[]): Map<string, number> {
  const best = new Map<string, number>();
  let highest = 0;
  for (const [entry, score] of scores) {
    const family = families[entry]!;
    best.set(family, Math.max(best.get(family) ?? 0, score));
    highest = Math.max(highest, score);
  }
  for (const [family, score] of best) best.set(family, score / highest);
  return best;
}

// Merges rankings: entries named exactly, then by their best rank, then by how many queries found them.
function mergeByRank(rankings: readonly (readonly SearchHit[])[]): SearchHit[] {
  const ranks = new Map<number, { hit: SearchHit; best: number; sum: number; isNamed: boolean }>();
  for (const hits of rankings) {
    for (const [rank, hit] of hits.entries()) {
      const { best, sum, isNamed } = ranks.get(hit.at) ?? { best: rank, sum: 0, isNamed: false };
      ranks.set(hit.at, {
        hit,
        best: Math.min(best, rank),
        sum: sum + 1 / (rank + 1),
        isNamed: isNamed || hit.score === Number.POSITIVE_INFINITY,
      });
    }
  }
  return [...ranks.values()]
    .sort((a, b) => Number(b.isNamed) - Number(a.isNamed) || a.best - b.best || b.sum - a.sum)
    .map(({ hit }) => hit);
}
