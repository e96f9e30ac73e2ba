// Full-text search: chunks of a text for the index, the terms of a query, and snippets around their matches.

export interface Chunk {
  /** Counted from 1. */
  readonly startLine: number;
  readonly endLine: number;
  readonly text: string;
}

const CHUNK_CHARACTERS = 2000;

/** Yields the chunks in order. A longer line is split, preferably at a space or a comma. */
export function* toChunks(text: string): Generator<Chunk> {
  let startLine = 1;
  let line = 1;
  let start = 0;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline + 1;
    if (end - start > CHUNK_CHARACTERS && start < at) {
      yield { startLine, endLine: line - 1, text: text.slice(start, at) };
      start = at;
      startLine = line;
    }
    while (end - start > CHUNK_CHARACTERS) {
      const cut = findCut(text, start, start + CHUNK_CHARACTERS);
      yield { startLine: line, endLine: line, text: text.slice(start, cut) };
      start = cut;
      startLine = line;
    }
    at = end;
    if (newline >= 0) line++;
  }
  if (start < text.length) {
    yield { startLine, endLine: text.endsWith('\n') ? line - 1 : line, text: text.slice(start) };
  }
}

// Prefers a separator in the second half, and never splits a surrogate pair.
function findCut(text: string, start: number, end: number): number {
  for (let at = end; at > start + CHUNK_CHARACTERS / 2; at--) {
    if (/[\s,;]/.test(text[at - 1]!)) return at;
  }
  return /[\uD800-\uDBFF]/.test(text[end - 1]!) ? end - 1 : end;
}

const MAX_TERMS = 32;
const SNIPPET_CHARACTERS = 300;

/** Normalises a text that is compared with others. */
export function foldText(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Splits a text into words, normalised and in lower case. */
export function toWords(text: string): string[] {
  return foldText(text).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}

// Letters of scripts without spaces between words, of which the index would make one word.
const UNSPACED =
  /(?:(?=[\p{L}\p{N}\p{M}])[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}])+/gu;
// The first of these scripts in Unicode is Thai.
const MAY_BE_UNSPACED = /[\u0e00-\uffff]/;

/** Whether a word has letters of a script without spaces between words. */
export function isUnspaced(word: string): boolean {
  return MAY_BE_UNSPACED.test(word) && word.search(UNSPACED) >= 0;
}

/** Returns a text as it is indexed: each letter of a script without spaces becomes a word with the next one. */
export function toIndexed(text: string): string {
  if (!MAY_BE_UNSPACED.test(text)) return text;
  return text.replace(UNSPACED, (run) => {
    const letters = [...foldText(run).replace(/\p{M}/gu, '')];
    return ` ${letters.map((letter, at) => letter + (letters[at + 1] ?? '')).join(' ')} `;
  });
}

/** Returns the query of the index for some words. */
export function toIndexQuery(terms: readonly string[]): string {
  // Documents that an earlier version indexed have the whole word.
  return terms.flatMap((term) => [`"${term}"`, ...(isUnspaced(term) ? [toPhrase(term)] : [])]).join(' OR ');
}

// In the text, other letters may follow the last one.
function toPhrase(term: string): string {
  const words = toIndexed(term).trim().split(/\s+/);
  const isOpen = isUnspaced([...term].at(-1)!);
  if (isOpen && words.at(-2)?.endsWith(words.at(-1)!)) words.pop();
  else if (isOpen) return `"${words.join(' ')}"*`;
  return `"${words.join(' ')}"`;
}

/** Returns the distinct words of a query. */
export function toTerms(query: string): string[] {
  return [...new Set(toWords(query))].slice(0, MAX_TERMS);
}

/** Returns up to 300 characters around the position where most terms are close together, on one line. */
export function toSnippet(text: string, terms: readonly string[]): string {
  const at = findBestPosition(text.toLowerCase(), terms);
  let start = Math.max(0, at - SNIPPET_CHARACTERS / 4);
  let end = Math.min(text.length, start + SNIPPET_CHARACTERS - 2);
  start = Math.max(0, Math.min(start, end - SNIPPET_CHARACTERS + 2));
  if (isSecondHalf(text, start)) start++;
  if (isSecondHalf(text, end)) end--;
  const line = text.slice(start, end).replace(/\s+/g, ' ').trim();
  return `${start > 0 ? '…' : ''}${line}${end < text.length ? '…' : ''}`;
}

// Returns the first match that is followed by the most other terms within half a snippet.
function findBestPosition(text: string, terms: readonly string[]): number {
  const matches = terms.flatMap((term) => findAll(text, term).map((at) => ({ at, term }))).sort((a, b) => a.at - b.at);
  let best = { at: 0, found: 0 };
  for (let from = 0; from < matches.length; from++) {
    const { at } = matches[from]!;
    const within = new Set<string>();
    for (let next = from; next < matches.length && matches[next]!.at < at + SNIPPET_CHARACTERS / 2; next++) {
      within.add(matches[next]!.term);
    }
    if (within.size > best.found) best = { at, found: within.size };
  }
  return best.at;
}

function findAll(text: string, term: string): number[] {
  const positions: number[] = [];
  for (let at = text.indexOf(term); at >= 0 && positions.length < 50; at = text.indexOf(term, at + 1)) {
    positions.push(at);
  }
  return positions;
}

function isSecondHalf(text: string, at: number): boolean {
  return at > 0 && at < text.length && /[\uDC00-\uDFFF]/.test(text[at]!);
}
