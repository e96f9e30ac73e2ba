// The terms of a search query, and snippets around their matches.

const MAX_TERMS = 32;
const SNIPPET_CHARACTERS = 300;

/** Splits a text into words, normalised and in lower case. */
export function toWords(text: string): string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
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
  const matches = terms
    .flatMap((term) => findAll(text, term).map((at) => ({ at, term })))
    .sort((a, b) => a.at - b.at);
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
