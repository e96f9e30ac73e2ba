// What someone looks for, as words; and the few characters around the first of them in a passage.

const MAX_WORDS = 32;
const SNIPPET_CHARACTERS = 300;

/** The words of a query, lower case, each once. */
export function toWords(query: string): string[] {
  const words =
    query
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return [...new Set(words)].slice(0, MAX_WORDS);
}

/** At most 300 characters around the place where most of the words stand together, on one line. */
export function toSnippet(text: string, words: readonly string[]): string {
  const at = findPlace(text.toLowerCase(), words);
  let start = Math.max(0, at - SNIPPET_CHARACTERS / 4);
  let end = Math.min(text.length, start + SNIPPET_CHARACTERS - 2);
  start = Math.max(0, Math.min(start, end - SNIPPET_CHARACTERS + 2));
  if (isSecondHalf(text, start)) start++;
  if (isSecondHalf(text, end)) end--;
  const line = text.slice(start, end).replace(/\s+/g, ' ').trim();
  return `${start > 0 ? '…' : ''}${line}${end < text.length ? '…' : ''}`;
}

// The first match after which the most other words follow within a snippet's length.
function findPlace(text: string, words: readonly string[]): number {
  const places = words
    .flatMap((word) => findAll(text, word).map((at) => ({ at, word })))
    .sort((a, b) => a.at - b.at);
  let best = { at: 0, found: 0 };
  for (let from = 0; from < places.length; from++) {
    const { at } = places[from]!;
    const within = new Set<string>();
    for (let next = from; next < places.length && places[next]!.at < at + SNIPPET_CHARACTERS / 2; next++) {
      within.add(places[next]!.word);
    }
    if (within.size > best.found) best = { at, found: within.size };
  }
  return best.at;
}

function findAll(text: string, word: string): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(word); at >= 0 && places.length < 50; at = text.indexOf(word, at + 1)) {
    places.push(at);
  }
  return places;
}

function isSecondHalf(text: string, at: number): boolean {
  return at > 0 && at < text.length && /[\uDC00-\uDFFF]/.test(text[at]!);
}
