// Light English stemmer: `searching`, `searches` and `search` have one stem.

/** Returns the stem of a lower-case word; words with letters outside a-z are returned unchanged. */
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
