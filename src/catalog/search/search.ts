// Full-text search index: BM25 over weighted fields, exact names first.

import { compareText } from '../../core/text.js';
import { stem } from './stem.js';
import { toWords } from './words.js';

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
  /** Returns the best entries for a query, best first. */
  search(query: string, limit: number): SearchHit[];
}

/** The weight of a term in each entry that contains it. */
type Postings = Map<number, number>;

// BM25 parameters: saturation of repeated words, and strength of length normalisation.
const K1 = 1.2;
const B = 0.75;
// Saturation of repeated words in a query.
const K3 = 1;
// Extra weight of an exact spelling and of adjacent words, relative to a matching stem.
const EXACT_SPELLING = 0.5;
const ADJACENT = 0.5;
// Above any sum of words.
const NAME_SCORE = Number.MAX_VALUE;

export function createSearchIndex<Entry extends Named>(
  entries: readonly Entry[],
  addTexts: (entry: Entry, add: AddText) => void,
): SearchIndex {
  const { words, stems, pairs, lengths } = collect(entries, addTexts);
  const names = groupNames(entries);
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, entries.length) || 1;

  const scoreWith = (scores: Map<number, number>, postings: Postings, factor: number): void => {
    const rarity = Math.log(1 + (entries.length - postings.size + 0.5) / (postings.size + 0.5));
    for (const [at, weight] of postings) {
      const norm = K1 * (1 - B + (B * lengths[at]!) / average);
      const term = (weight * (K1 + 1)) / (weight + norm);
      scores.set(at, (scores.get(at) ?? 0) + factor * rarity * term);
    }
  };

  return {
    search(query, limit) {
      const scores = new Map<number, number>();
      const queried = toWords(query);
      const roots = queried.map(stem);
      for (const [root, times] of countOf(roots)) {
        const found = (stems.get(root) ?? []).map((word) => words.get(word)!);
        scoreWith(scores, mergePostings(found), saturateRepeats(times));
      }
      for (const [word, times] of countOf(queried))
        scoreWith(scores, words.get(word) ?? new Map(), EXACT_SPELLING * saturateRepeats(times));
      for (const pair of new Set(roots.slice(1).map((root, before) => `${roots[before]} ${root}`)))
        scoreWith(scores, pairs.get(pair) ?? new Map(), ADJACENT);
      // An exact name comes first, then names that differ in case and punctuation only.
      for (const at of names.get(nameKey(query)) ?? [])
        scores.set(at, entries[at]!.name === query ? Number.POSITIVE_INFINITY : NAME_SCORE);
      return bestOf(
        [...scores].map(([at, score]) => ({ at, name: entries[at]!.name, score })),
        limit,
      );
    },
  };
}

function collect<Entry>(entries: readonly Entry[], addTexts: (entry: Entry, add: AddText) => void) {
  const words = new Map<string, Postings>();
  // The words of each stem.
  const stems = new Map<string, string[]>();
  // Adjacent stems of ordered texts.
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
      if (!ordered) return;
      const roots = found.map(stem);
      for (let next = 1; next < roots.length; next++) countIn(pairs, `${roots[next - 1]} ${roots[next]}`, at, weight);
    });
    lengths.push(length);
  });
  return { words, stems, pairs, lengths };
}

// Words with the same stem count as one term.
function mergePostings(all: readonly Postings[]): Postings {
  if (all.length === 1) return all[0]!;
  const merged: Postings = new Map();
  for (const postings of all) for (const [at, weight] of postings) merged.set(at, (merged.get(at) ?? 0) + weight);
  return merged;
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

// By insertion into a short list: sorting all hits takes longer than finding them.
function bestOf(hits: readonly SearchHit[], limit: number): SearchHit[] {
  const best: SearchHit[] = [];
  for (const hit of hits) {
    let place = best.length;
    while (place > 0 && isAhead(hit, best[place - 1]!)) place--;
    if (place < limit) best.splice(place, 0, hit);
    if (best.length > limit) best.pop();
  }
  return best;
}

function isAhead(a: SearchHit, b: SearchHit): boolean {
  return a.score === b.score ? compareText(a.name, b.name) < 0 : a.score > b.score;
}
