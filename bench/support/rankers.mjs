// What search is measured against: BM25 as it is, BM25 tuned by hand, MiniSearch with its defaults.

import MiniSearch from 'minisearch';
import { stem, toWords } from '../../dist/catalog/search/words.js';

const K1 = 1.2;
const B = 0.75;

function createBm25(documents, split) {
  const postings = new Map();
  const lengths = documents.map(({ text }, at) => {
    const words = split(text);
    const counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    for (const [word, count] of counts) {
      if (!postings.has(word)) postings.set(word, []);
      postings.get(word).push([at, count]);
    }
    return words.length;
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / documents.length;
  return (query, limit) => {
    const scores = new Map();
    for (const word of new Set(split(query))) {
      const found = postings.get(word) ?? [];
      const rarity = Math.log(1 + (documents.length - found.length + 0.5) / (found.length + 0.5));
      for (const [at, count] of found) {
        const said = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * lengths[at]) / average));
        scores.set(at, (scores.get(at) ?? 0) + rarity * said);
      }
    }
    return [...scores]
      .sort((a, b) => b[1] - a[1] || a[0] - b[0])
      .slice(0, limit)
      .map(([at]) => documents[at].name);
  };
}

/** Name and description, split at what is no letter or digit. */
export function createPlainBm25(tools) {
  return createBm25(
    tools.map(({ name, description }) => ({ name, text: `${name} ${description ?? ''}` })),
    (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [],
  );
}

/**
 * Identifiers split, stop words left out, endings cut; name, description, names of parameters and the server's text, with
 * `descriptions` also the descriptions of parameters.
 */
export function createTunedBm25(tools, { descriptions = false } = {}) {
  return createBm25(
    tools.map(({ name, description, parameters, server, server_description }) => ({
      name,
      text: [
        name,
        description ?? '',
        Object.keys(parameters?.properties ?? {}).join(' '),
        ...(descriptions
          ? Object.values(parameters?.properties ?? {}).map((one) => String(one?.description ?? ''))
          : []),
        server ?? '',
        server_description ?? '',
      ].join(' '),
    })),
    (text) => toWords(text).map(stem),
  );
}

export function createMiniSearch(tools) {
  const index = new MiniSearch({ idField: 'name', fields: ['name', 'description'] });
  index.addAll(tools.map(({ name, description = '' }) => ({ name, description })));
  return (query, limit) =>
    index
      .search(query)
      .slice(0, limit)
      .map((hit) => hit.id);
}
