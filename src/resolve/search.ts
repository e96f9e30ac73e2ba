// Ranks tools by words (BM25 over weighted fields), exact names first; built once for a catalog, asked often.

import { isRecord } from '../core/json.js';
import { compareText } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { toWords } from './words.js';

/** What is searched in one entry: its name, and texts with the weight that a word in them has. */
export interface SearchEntry {
  readonly name: string;
  readonly fields: readonly { readonly text: string; readonly weight: number }[];
}

export interface SearchHit {
  readonly name: string;
  readonly score: number;
}

export interface SearchIndex {
  /** The best entries for a query, best first. */
  search(query: string, limit: number): SearchHit[];
}

// How soon repetition stops counting, and how much a long text is held against it.
const K1 = 1.2;
const B = 0.75;

interface Posting {
  readonly entries: number[];
  readonly weights: number[];
}

export function createSearchIndex(entries: readonly SearchEntry[]): SearchIndex {
  const postings = new Map<string, Posting>();
  const lengths = new Float64Array(entries.length);
  const names = new Map<string, number[]>();
  entries.forEach((entry, at) => {
    lengths[at] = addEntry(entry, at, postings);
    const key = nameKey(entry.name);
    names.set(key, [...(names.get(key) ?? []), at]);
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, entries.length);

  return {
    search(query, limit) {
      const scores = new Float64Array(entries.length);
      const seen: number[] = [];
      for (const [word, count] of countWords(toWords(query))) {
        const posting = postings.get(word);
        if (posting === undefined) continue;
        const found = posting.entries.length;
        const rarity = Math.log(1 + (entries.length - found + 0.5) / (found + 0.5)) * (1 + Math.log(count));
        for (let index = 0; index < found; index++) {
          const at = posting.entries[index]!;
          const weight = posting.weights[index]!;
          if (scores[at] === 0) seen.push(at);
          scores[at]! +=
            (rarity * weight * (K1 + 1)) / (weight + K1 * (1 - B + (B * lengths[at]!) / average));
        }
      }
      // A name that is asked for as it is stands above everything.
      for (const at of names.get(nameKey(query)) ?? []) {
        if (scores[at] === 0) seen.push(at);
        scores[at] = Number.MAX_VALUE;
      }
      return best(seen, scores, entries, limit).map((at) => ({
        name: entries[at]!.name,
        score: scores[at]!,
      }));
    },
  };
}

// A tool as search sees it: its name counts most, then its description, then its parameters.
function toSearchEntry(tool: Tool): SearchEntry {
  const { properties } = tool.input.json;
  const parameters = isRecord(properties) ? Object.entries(properties) : [];
  return {
    name: tool.name,
    fields: [
      { text: tool.name, weight: 2 },
      { text: tool.description, weight: 1 },
      { text: [tool.traits.group ?? '', ...tool.traits.tags, tool.origin.server ?? ''].join(' '), weight: 1 },
      { text: parameters.map(([name]) => name).join(' '), weight: 0.5 },
      { text: parameters.map(([, schema]) => describe(schema)).join(' '), weight: 0.25 },
    ],
  };
}

function describe(schema: unknown): string {
  return isRecord(schema) && typeof schema.description === 'string' ? schema.description : '';
}

// The weighted number of its words, which is its length.
function addEntry({ fields }: SearchEntry, at: number, postings: Map<string, Posting>): number {
  const weights = new Map<string, number>();
  let length = 0;
  for (const { text, weight } of fields) {
    for (const word of toWords(text)) {
      weights.set(word, (weights.get(word) ?? 0) + weight);
      length += weight;
    }
  }
  for (const [word, weight] of weights) {
    let posting = postings.get(word);
    if (posting === undefined) {
      posting = { entries: [], weights: [] };
      postings.set(word, posting);
    }
    posting.entries.push(at);
    posting.weights.push(weight);
  }
  return length;
}

function countWords(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function nameKey(name: string): string {
  return name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
}

// The `limit` best, without sorting all: a short list that is kept in order.
function best(
  seen: readonly number[],
  scores: Float64Array,
  entries: readonly SearchEntry[],
  limit: number,
): number[] {
  const ahead = (a: number, b: number): number =>
    scores[b]! - scores[a]! || compareText(entries[a]!.name, entries[b]!.name);
  const top: number[] = [];
  for (const at of seen) {
    if (top.length === limit && ahead(at, top[limit - 1]!) > 0) continue;
    let place = top.length;
    while (place > 0 && ahead(at, top[place - 1]!) < 0) place--;
    top.splice(place, 0, at);
    if (top.length > limit) top.pop();
  }
  return top;
}

/** Search over the visible tools of a catalog; the index is made again only when one of them changed. */
export function createToolSearch(list: () => readonly Tool[]): (query: string, limit: number) => Tool[] {
  let known: { readonly tools: readonly Tool[]; readonly index: SearchIndex } | undefined;
  return (query, limit) => {
    const tools = list().filter((tool) => !tool.traits.hidden);
    if (
      known === undefined ||
      tools.length !== known.tools.length ||
      tools.some((tool, at) => tool !== known!.tools[at])
    ) {
      known = { tools, index: createSearchIndex(tools.map(toSearchEntry)) };
    }
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    return known.index.search(query, limit).map((hit) => byName.get(hit.name)!);
  };
}
