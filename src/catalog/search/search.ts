// Full-text search index: BM25 over weighted fields, exact names first.

import { compareText } from '../../core/text.js';
import { B, type Counts, createCounts, K1, type Postings } from './postings.js';
import { stem } from './stem.js';
import { createVocabulary, toWords, type Vocabulary } from './words.js';

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

// Saturation of repeated words in a query.
const K3 = 1;
// Extra weight of an exact spelling and of adjacent words, relative to a matching stem.
const EXACT_SPELLING = 0.5;
const ADJACENT = 0.5;
// Above any sum of words, and still a 32-bit float.
const NAME_SCORE = 1e38;

export function createSearchIndex<Entry extends Named>(
  entries: readonly Entry[],
  addTexts: (entry: Entry, add: AddText) => void,
): SearchIndex {
  const total = entries.length;
  const { vocabulary, stems, byStem, byWord, byPair, pairs, lengths } = collect(entries, addTexts);
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, total) || 1;
  // Length normalisation of each entry.
  const norms = lengths.map((length) => K1 * (1 - B + (B * length) / average));
  const ofStem = byStem.sort(norms);
  // A stem with a single word has the same postings as the word.
  const isOnlyWord = (word: number): boolean => stems.count(stems.of(word)) === 1;
  const ofWord = byWord.sort(norms, (word) => !isOnlyWord(word));
  const ofPair = byPair.sort(norms);
  const names = groupNames(entries);
  const scores = new Float32Array(total);
  const rarity = (found: number): number => Math.log(1 + (total - found + 0.5) / (found + 0.5));

  const rarityOf = ({ starts }: Postings, key: number): number => rarity(starts[key + 1]! - starts[key]!);
  const add = ({ starts, entries: found, weights }: Postings, key: number, factor: number): void => {
    const end = starts[key + 1]!;
    for (let index = starts[key]!; index < end; index++) scores[found[index]!]! += factor * weights[index]!;
  };

  return {
    search(query, limit) {
      scores.fill(0);
      const terms = readQuery(query, vocabulary, stems);
      const factors = new Map<number, number>();
      for (const [root, times] of terms.stems) factors.set(root, rarityOf(ofStem, root) * saturateRepeats(times));
      for (const [word, times] of terms.words) {
        const root = stems.of(word);
        const factor = EXACT_SPELLING * saturateRepeats(times);
        if (isOnlyWord(word)) factors.set(root, factors.get(root)! + factor * rarityOf(ofStem, root));
        else add(ofWord, word, factor * rarityOf(ofWord, word));
      }
      for (const [root, factor] of factors) add(ofStem, root, factor);
      for (const [first, second] of terms.pairs) {
        const pair = pairs.find(first, second);
        if (pair !== undefined) add(ofPair, pair, ADJACENT * rarityOf(ofPair, pair));
      }
      // An exact name comes first, then names that differ in case and punctuation only.
      for (const at of names.get(nameKey(query)) ?? [])
        scores[at] = entries[at]!.name === query ? Number.POSITIVE_INFINITY : NAME_SCORE;
      return topEntries(scores, entries, limit).map((at) => ({
        at,
        name: entries[at]!.name,
        score: scores[at]!,
      }));
    },
  };
}

interface Collected {
  readonly vocabulary: Vocabulary;
  readonly stems: Stems;
  readonly byStem: Counts;
  readonly byWord: Counts;
  readonly byPair: Counts;
  readonly pairs: Pairs;
  /** Weighted number of words of each entry. */
  readonly lengths: Float64Array;
}

function collect<Entry>(entries: readonly Entry[], addTexts: (entry: Entry, add: AddText) => void): Collected {
  const byStem = createCounts(entries.length);
  const byWord = createCounts(entries.length);
  const byPair = createCounts(entries.length);
  const pairs = createPairs();
  const lengths = new Float64Array(entries.length);
  let length = 0;
  let weight = 0;
  let ordered = false;
  let before = -1;
  const take = (word: number): void => {
    const root = stems.of(word);
    length += weight;
    byStem.add(root, weight);
    byWord.add(word, weight);
    if (ordered && before >= 0) byPair.add(pairs.of(before, root), weight);
    before = root;
  };
  const vocabulary = createVocabulary(take);
  const stems = createStems(vocabulary.words);
  const addText: AddText = (text, ofText, isOrdered = false) => {
    weight = ofText;
    ordered = isOrdered;
    before = -1;
    vocabulary.read(text);
  };
  entries.forEach((entry, at) => {
    length = 0;
    byStem.begin(at);
    byWord.begin(at);
    byPair.begin(at);
    addTexts(entry, addText);
    lengths[at] = length;
  });
  return { vocabulary, stems, byStem, byWord, byPair, pairs, lengths };
}

/** Assigns numbers to pairs of numbers. */
interface Pairs {
  of(first: number, second: number): number;
  find(first: number, second: number): number | undefined;
}

function createPairs(): Pairs {
  const followers: (Map<number, number> | undefined)[] = [];
  let size = 0;
  return {
    find: (first, second) => followers[first]?.get(second),
    of(first, second) {
      while (followers.length <= first) followers.push(undefined);
      const known = followers[first] ?? new Map<number, number>();
      followers[first] = known;
      let pair = known.get(second);
      if (pair === undefined) {
        pair = size++;
        known.set(second, pair);
      }
      return pair;
    },
  };
}

interface Stems {
  /** Returns the number of the stem of a word number. */
  of(word: number): number;
  /** Returns the number of a stem, or undefined if no word has it. */
  find(root: string): number | undefined;
  /** Number of words with this stem. */
  count(root: number): number;
}

function createStems(words: readonly string[]): Stems {
  const numbers = new Map<string, number>();
  const known: number[] = [];
  const counts: number[] = [];
  return {
    find: (root) => numbers.get(root),
    count: (root) => counts[root]!,
    of(word) {
      // Words are numbered consecutively, so stems are computed up to this word.
      for (let next = known.length; next <= word; next++) {
        const root = stem(words[next]!);
        const number = numbers.get(root) ?? numbers.size;
        numbers.set(root, number);
        known.push(number);
        counts[number] = (counts[number] ?? 0) + 1;
      }
      return known[word]!;
    },
  };
}

interface QueryTerms {
  /** How often the query contains each known stem and word, by number. */
  readonly stems: ReadonlyMap<number, number>;
  readonly words: ReadonlyMap<number, number>;
  readonly pairs: readonly (readonly [number, number])[];
}

function readQuery(query: string, vocabulary: Vocabulary, stems: Stems): QueryTerms {
  const terms = { stems: new Map<number, number>(), words: new Map<number, number>() };
  const pairs = new Map<string, readonly [number, number]>();
  let before: number | undefined;
  for (const text of toWords(query)) {
    const word = vocabulary.find(text);
    const root = word === undefined ? stems.find(stem(text)) : stems.of(word);
    if (word !== undefined) terms.words.set(word, (terms.words.get(word) ?? 0) + 1);
    if (root !== undefined) terms.stems.set(root, (terms.stems.get(root) ?? 0) + 1);
    if (root !== undefined && before !== undefined) pairs.set(`${before} ${root}`, [before, root]);
    before = root;
  }
  return { ...terms, pairs: [...pairs.values()] };
}

function saturateRepeats(times: number): number {
  return ((K3 + 1) * times) / (K3 + times);
}

function groupNames(entries: readonly Named[]): Map<string, number[]> {
  const names = new Map<string, number[]>();
  entries.forEach(({ name }, at) => {
    const key = nameKey(name);
    const same = names.get(key);
    if (same === undefined) names.set(key, [at]);
    else same.push(at);
  });
  return names;
}

// Equal for names that differ in case and punctuation only.
function nameKey(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

// Returns the `limit` best entries by insertion into a short sorted list.
function topEntries(scores: Float32Array, entries: readonly Named[], limit: number): number[] {
  const isAhead = (a: number, b: number): boolean =>
    scores[a] === scores[b] ? compareText(entries[a]!.name, entries[b]!.name) < 0 : scores[a]! > scores[b]!;
  const top: number[] = [];
  let least = Number.MIN_VALUE;
  for (let at = 0; at < scores.length; at++) {
    if (scores[at]! < least) continue;
    if (top.length === limit && !isAhead(at, top[limit - 1]!)) continue;
    let place = top.length;
    while (place > 0 && isAhead(at, top[place - 1]!)) place--;
    top.splice(place, 0, at);
    if (top.length > limit) top.pop();
    if (top.length === limit) least = scores[top[limit - 1]!]!;
  }
  return top;
}
