// The words that search compares: of text and identifiers, in lower case and without stop words, and their stems.

const STOP_WORDS = new Set(
  `a about all also am an and any are as at be been but by can could did do does for from get give given had has have
  help her here him his how i if in into is it its just let like looking make may me might more most my need no not of
  on or our out over please should show so some such tell than thank thanks that the their them then there these they
  this those to too up us use used using want was we were what when where which who why will with would you your`.split(
    /\s+/,
  ),
);

const IDEOGRAPHS = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]/;
// Both split `getHTTPStatus2` into get, HTTP, Status, 2; the first is many times as fast.
const ASCII_WORDS = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const WORDS =
  /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+|\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{L}+|\p{N}+/gu;

/** Returns the words of a text in order, repetitions included. */
export function toWords(text: string): string[] {
  return toAllWords(text).filter((word) => !STOP_WORDS.has(word));
}

/** Returns the words of a text with stop words. */
export function toAllWords(text: string): string[] {
  return splitWords(text).map((word) => word.toLowerCase());
}

function splitWords(text: string): string[] {
  if (/^[\x00-\x7f]*$/.test(text)) return text.match(ASCII_WORDS) ?? [];
  const words = text.normalize('NFKC').match(WORDS) ?? [];
  return words.flatMap((word) => (IDEOGRAPHS.test(word) ? bigrams(word) : [word]));
}

// For scripts without spaces, every two adjacent characters are a word.
function bigrams(text: string): string[] {
  if (text.length < 2) return [text];
  return Array.from({ length: text.length - 1 }, (_, at) => text.slice(at, at + 2));
}

/**
 * Returns the stem of a lower-case word: `searching`, `searches` and `search` have one. Words with letters outside a-z are
 * returned unchanged.
 */
export function stem(word: string): string {
  if (!/^[a-z]{4,}$/.test(word)) return word;
  let root = replaceSuffix(cutInflection(cutPlural(word)));
  if (root.length <= 3) return root;
  if (root.endsWith('e')) root = root.slice(0, -1);
  return root.endsWith('i') ? `${root.slice(0, -1)}y` : root;
}

const INFLECTIONS = ['ingly', 'edly', 'ing', 'ed', 'ly'];

const SUFFIXES: readonly (readonly [string, string])[] = [
  ['ization', 'ize'],
  ['ational', 'ate'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['iveness', 'ive'],
  ['ment', ''],
  ['ness', ''],
  ['tion', 't'],
];

function cutPlural(word: string): string {
  if (!word.endsWith('s')) return word;
  if (word.endsWith('ies') && word.length > 4) return `${word.slice(0, -3)}y`;
  if (/(?:ss|sh|ch|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith('ss') || word.endsWith('us') ? word : word.slice(0, -1);
}

function cutInflection(word: string): string {
  for (const ending of INFLECTIONS) {
    if (!word.endsWith(ending)) continue;
    const root = word.slice(0, -ending.length);
    if (root.length >= 3 && /[aeiouy]/.test(root)) return /([bdfgmnprt])\1$/.test(root) ? root.slice(0, -1) : root;
  }
  return word;
}

function replaceSuffix(word: string): string {
  for (const [ending, instead] of SUFFIXES) {
    if (word.endsWith(ending) && word.length - ending.length >= 3) return word.slice(0, -ending.length) + instead;
  }
  return word;
}
