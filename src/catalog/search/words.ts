// Splits text and identifiers into the lower-case words that search compares, without stop words.

const STOP_WORDS = new Set(
  `a about all also am an and any are as at be been but by can could did do does for from get give given had has have
  help her here him his how i if in into is it its just let like looking make may me might more most my need no not of
  on or our out over please should show so some such tell than thank thanks that the their them then there these they
  this those to too up us use used using want was we were what when where which who why will with would you your`.split(
    /\s+/,
  ),
);

const IDEOGRAPHS = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]/;

/** Returns the words of a text in order, repetitions included. */
export function toWords(text: string): string[] {
  const words: string[] = [];
  splitWords(text, (piece) => {
    const word = piece.toLowerCase();
    if (!STOP_WORDS.has(word)) words.push(word);
  });
  return words;
}

/** All words read so far, each with a number. */
export interface Vocabulary {
  readonly words: readonly string[];
  /** Returns the number of a lower-case word, or undefined if it was never read. */
  find(word: string): number | undefined;
  /** Calls `onWord` with the number of each word of a text, in order, and adds new words. */
  read(text: string): void;
}

const STOPPED = -1;

/** Creates an empty vocabulary; `onWord` is called for every word that is read. */
export function createVocabulary(onWord: (word: number) => void): Vocabulary {
  const words: string[] = [];
  const numbers = new Map<string, number>();
  // Keyed by spelling as well, so that a word that was seen is not lower-cased again.
  const spellings = new Map<string, number>();

  const add = (piece: string): number => {
    const word = piece.toLowerCase();
    let number = STOP_WORDS.has(word) ? STOPPED : numbers.get(word);
    if (number === undefined) {
      number = words.push(word) - 1;
      numbers.set(word, number);
    }
    spellings.set(piece, number);
    return number;
  };
  const take = (piece: string): void => {
    const number = spellings.get(piece) ?? add(piece);
    if (number !== STOPPED) onWord(number);
  };

  return {
    words,
    find: (word) => numbers.get(word),
    read: (text) => splitWords(text, take),
  };
}

type TakeWord = (piece: string) => void;

// ASCII is split by hand. A word with any other character, up to the next space, is split by the regular expression.
function splitWords(text: string, take: TakeWord): void {
  let from = 0;
  while (from < text.length) {
    const other = splitAscii(text, from, take);
    if (other === text.length) return;
    const space = text.indexOf(' ', other);
    from = space === -1 ? text.length : space;
    splitUnicode(text.slice(other, from), take);
  }
}

// The regular expression is not a constant: compiling it takes a millisecond, and most processes never search.
function splitUnicode(text: string, take: TakeWord): void {
  const pieces = text
    .normalize('NFKC')
    .matchAll(
      /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+|\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{L}+|\p{N}+/gu,
    );
  for (const [piece] of pieces) {
    for (const word of IDEOGRAPHS.test(piece) ? bigrams(piece) : [piece]) take(word);
  }
}

// Splits `getHTTPStatus2` into get, HTTP, Status, 2, as the regular expression does, ten times as fast. Returns the
// start of the first word with a character outside ASCII, or the length of the text.
function splitAscii(text: string, from: number, take: TakeWord): number {
  let start = from;
  let before = NONE;
  for (let at = from; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    const kind = code < 128 ? KINDS[code]! : isPunctuation(code) ? NONE : OTHER;
    if (kind === before) continue;
    if (kind === OTHER) return before === NONE ? at : start;
    if (before === UPPER && kind === LOWER) {
      // The last capital belongs to the word that begins here.
      if (at - 1 > start) take(text.slice(start, at - 1));
      start = at - 1;
    } else {
      if (before !== NONE) take(text.slice(start, at));
      start = at;
    }
    before = kind;
  }
  return text.length;
}

const NONE = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const OTHER = 4;

const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  return code >= 48 && code <= 57 ? DIGIT : NONE;
});

// Typographic dashes and quotation marks, which are common and not letters.
function isPunctuation(code: number): boolean {
  return code >= 0x2010 && code <= 0x2027;
}

// For scripts without spaces, every two adjacent characters are a word.
function bigrams(text: string): string[] {
  if (text.length < 2) return [text];
  const found: string[] = [];
  for (let at = 0; at + 1 < text.length; at++) found.push(text.slice(at, at + 2));
  return found;
}
