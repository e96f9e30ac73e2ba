// Ranks entries by words (BM25 over weighted fields), exact names first; built once for a catalog, asked often.

import { compareText } from '../../core/text.js';
import { B, type Counts, createCounts, K1, type Postings } from './postings.js';
import { stem } from './stem.js';
import { createVocabulary, toWords, type Vocabulary } from './words.js';

/**
 * Takes a text of an entry, with the weight that a word in it has. In an ordered one, two words that stand side by side
 * count more where they do in the query too.
 */
export type AddText = (text: string, weight: number, ordered?: boolean) => void;

interface Named {
  readonly name: string;
}

export interface SearchHit {
  /** Its place among the entries. */
  readonly at: number;
  readonly name: string;
  readonly score: number;
}

export interface SearchIndex {
  /** The best entries for a query, best first. */
  search(query: string, limit: number): SearchHit[];
}

// How soon repetition stops counting in a query.
const K3 = 1;
// What counts besides a word's stem: that it is written just so, and that its neighbour is the same.
const AS_WRITTEN = 0.5;
const SIDE_BY_SIDE = 0.5;
// More than any sum of words, and still a number of four bytes.
const ABOVE_ALL = 1e38;

export function createSearchIndex<Entry extends Named>(
  entries: readonly Entry[],
  tellTexts: (entry: Entry, add: AddText) => void,
): SearchIndex {
  const total = entries.length;
  const { vocabulary, stems, byStem, byWord, byPair, pairs, lengths } = collect(entries, tellTexts);
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, total) || 1;
  // How much the length of each entry is held against it.
  const held = lengths.map((length) => K1 * (1 - B + (B * length) / average));
  const ofStem = byStem.sort(held);
  // Where a stem has one word only, the word is where the stem is.
  const isAlone = (word: number): boolean => stems.count(stems.of(word)) === 1;
  const ofWord = byWord.sort(held, (word) => !isAlone(word));
  const ofPair = byPair.sort(held);
  const names = groupNames(entries);
  const scores = new Float32Array(total);
  const rarity = (found: number): number => Math.log(1 + (total - found + 0.5) / (found + 0.5));

  const rarityOf = ({ starts }: Postings, key: number): number => rarity(starts[key + 1]! - starts[key]!);
  const add = ({ starts, places, weights }: Postings, key: number, factor: number): void => {
    const end = starts[key + 1]!;
    for (let index = starts[key]!; index < end; index++) scores[places[index]!]! += factor * weights[index]!;
  };

  return {
    search(query, limit) {
      scores.fill(0);
      const asked = readQuery(query, vocabulary, stems);
      const factors = new Map<number, number>();
      for (const [root, times] of asked.stems) factors.set(root, rarityOf(ofStem, root) * repeated(times));
      for (const [word, times] of asked.words) {
        const root = stems.of(word);
        const factor = AS_WRITTEN * repeated(times);
        if (isAlone(word)) factors.set(root, factors.get(root)! + factor * rarityOf(ofStem, root));
        else add(ofWord, word, factor * rarityOf(ofWord, word));
      }
      for (const [root, factor] of factors) add(ofStem, root, factor);
      for (const [first, second] of asked.pairs) {
        const pair = pairs.find(first, second);
        if (pair !== undefined) add(ofPair, pair, SIDE_BY_SIDE * rarityOf(ofPair, pair));
      }
      // A name that is asked for as it is stands above everything, before one that is only spelled otherwise.
      const key = nameKey(query);
      for (const at of names.get(hashName(query)) ?? []) {
        const { name } = entries[at]!;
        if (nameKey(name) === key) scores[at] = name === query ? Number.POSITIVE_INFINITY : ABOVE_ALL;
      }
      return best(scores, entries, limit).map((at) => ({ at, name: entries[at]!.name, score: scores[at]! }));
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
  /** The weighted number of words of each entry. */
  readonly lengths: Float64Array;
}

function collect<Entry>(
  entries: readonly Entry[],
  tellTexts: (entry: Entry, add: AddText) => void,
): Collected {
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
    tellTexts(entry, addText);
    lengths[at] = length;
  });
  return { vocabulary, stems, byStem, byWord, byPair, pairs, lengths };
}

/** Numbers of pairs of numbers. */
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
  /** The stem of a word, both by number. */
  of(word: number): number;
  /** The number of a stem, where it was seen. */
  find(root: string): number | undefined;
  /** How many words have it. */
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
      // Words get their numbers one after the other, and their stems with them.
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

interface Asked {
  /** How often each stem and each word of the entries is asked for, by number. */
  readonly stems: ReadonlyMap<number, number>;
  readonly words: ReadonlyMap<number, number>;
  readonly pairs: readonly (readonly [number, number])[];
}

function readQuery(query: string, vocabulary: Vocabulary, stems: Stems): Asked {
  const asked = { stems: new Map<number, number>(), words: new Map<number, number>() };
  const pairs = new Map<string, readonly [number, number]>();
  let before: number | undefined;
  for (const text of toWords(query)) {
    const word = vocabulary.find(text);
    const root = word === undefined ? stems.find(stem(text)) : stems.of(word);
    if (word !== undefined) asked.words.set(word, (asked.words.get(word) ?? 0) + 1);
    if (root !== undefined) asked.stems.set(root, (asked.stems.get(root) ?? 0) + 1);
    if (root !== undefined && before !== undefined) pairs.set(`${before} ${root}`, [before, root]);
    before = root;
  }
  return { ...asked, pairs: [...pairs.values()] };
}

function repeated(times: number): number {
  return ((K3 + 1) * times) / (K3 + times);
}

// Entries by the hash of their name; hashing makes no text, and building an index makes a great many.
function groupNames(entries: readonly Named[]): Map<number, number[]> {
  const names = new Map<number, number[]>();
  entries.forEach(({ name }, at) => {
    const key = hashName(name);
    const same = names.get(key);
    if (same === undefined) names.set(key, [at]);
    else same.push(at);
  });
  return names;
}

// The same for two names that differ in case and plain punctuation only, and often for none else.
function hashName(name: string): number {
  let hash = 0;
  for (let at = 0; at < name.length; at++) {
    const code = name.charCodeAt(at) | 32;
    if ((code >= 97 && code <= 122) || (code >= 48 && code <= 57)) hash = Math.imul(hash ^ code, 0x01000193);
  }
  return hash;
}

function nameKey(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

// The `limit` best, without sorting all: a short list that is kept in order.
function best(scores: Float32Array, entries: readonly Named[], limit: number): number[] {
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
