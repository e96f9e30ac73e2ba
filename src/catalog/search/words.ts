// Splits text and identifiers into the words that search compares: lower case, common words left out.

// Words that say nothing about a tool.
const STOP_WORDS = new Set(
  `a about all also am an and any are as at be been but by can could did do does for from get give given had has have
  help her here him his how i if in into is it its just let like looking make may me might more most my need no not of
  on or our out over please should show so some such tell than thank thanks that the their them then there these they
  this those to too up us use used using want was we were what when where which who why will with would you your`.split(
    /\s+/,
  ),
);

const IDEOGRAPHS = /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]/;

/** The words of a text, in order, repeated as often as they stand there. */
export function toWords(text: string): string[] {
  const words: string[] = [];
  readWords(text, (source, start, end) => {
    const word = source.slice(start, end).toLowerCase();
    if (!STOP_WORDS.has(word)) words.push(word);
  });
  return words;
}

/** The words that were seen, each with a number. */
export interface Vocabulary {
  readonly words: readonly string[];
  /** The number of a word, where it was seen. */
  find(word: string): number | undefined;
  /** Tells the number of each word of a text, in order; new words are added. */
  read(text: string): void;
}

const STOPPED = -1;

/** An empty vocabulary; `tell` hears of every word that is read. */
export function createVocabulary(tell: (word: number) => void): Vocabulary {
  const words: string[] = [];
  // An open table of places in the three lists, one more each; 0 is free. No text is made for a word that was seen.
  let table = new Int32Array(1 << 14);
  const spelled: string[] = [];
  const hashes: number[] = [];
  const numbers: number[] = [];

  const slotOf = (text: string, start: number, end: number, hash: number): number => {
    let slot = hash & (table.length - 1);
    for (; table[slot] !== 0; slot = (slot + 1) & (table.length - 1)) {
      const place = table[slot]! - 1;
      if (hashes[place] === hash && isSame(spelled[place]!, text, start, end)) break;
    }
    return slot;
  };
  const add = (slot: number, word: string, hash: number): number => {
    const number = STOP_WORDS.has(word) ? STOPPED : words.push(word) - 1;
    spelled.push(word);
    hashes.push(hash);
    numbers.push(number);
    table[slot] = spelled.length;
    if (spelled.length * 2 > table.length) {
      table = new Int32Array(table.length * 2);
      spelled.forEach((known, place) => {
        table[slotOf(known, 0, known.length, hashes[place]!)] = place + 1;
      });
    }
    return number;
  };
  const take = (text: string, start: number, end: number, hash: number): void => {
    const slot = slotOf(text, start, end, hash);
    const place = table[slot]!;
    const number = place === 0 ? add(slot, text.slice(start, end).toLowerCase(), hash) : numbers[place - 1]!;
    if (number !== STOPPED) tell(number);
  };

  return {
    words,
    find(word) {
      const place = table[slotOf(word, 0, word.length, hashOf(word))]!;
      const number = place === 0 ? STOPPED : numbers[place - 1]!;
      return number === STOPPED ? undefined : number;
    },
    read: (text) => readWords(text, take),
  };
}

/** Takes a word that stands in a text from `start` to `end`, with the hash of its lower case. */
type TakeWord = (text: string, start: number, end: number, hash: number) => void;

// What is plain is read where it stands; from a word with another letter on, up to the next space, the slow way is taken.
function readWords(text: string, take: TakeWord): void {
  let from = 0;
  while (from < text.length) {
    const odd = readPlain(text, from, take);
    if (odd === text.length) return;
    const space = text.indexOf(' ', odd);
    from = space === -1 ? text.length : space;
    readOdd(text.slice(odd, from), take);
  }
}

// The pattern is no constant: it takes a millisecond to make, and most starts search for nothing.
function readOdd(text: string, take: TakeWord): void {
  const pieces = text
    .normalize('NFKC')
    .matchAll(
      /[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+|\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{L}+|\p{N}+/gu,
    );
  for (const [piece] of pieces) {
    for (const word of IDEOGRAPHS.test(piece) ? pairs(piece) : [piece.toLowerCase()]) {
      take(word, 0, word.length, hashOf(word));
    }
  }
}

// `getHTTPStatus2` is get, HTTP, Status, 2: what that pattern says, ten times as fast for the text that most tools have. Gives
// the start of the first word that is not plain, or the length.
function readPlain(text: string, from: number, take: TakeWord): number {
  let start = from;
  let before = NONE;
  let hash = SEED;
  // The hash without the last letter.
  let shorter = SEED;
  for (let at = from; at <= text.length; at++) {
    const code = at < text.length ? text.charCodeAt(at) : 0;
    const kind = code < 128 ? KINDS[code]! : isHarmless(code) ? NONE : ODD;
    if (kind !== before) {
      if (kind === ODD) return before === NONE ? at : start;
      if (before === UPPER && kind === LOWER) {
        // The last capital belongs to the word that begins here.
        if (at - 1 > start) take(text, start, at - 1, shorter);
        start = at - 1;
        hash = step(SEED, text.charCodeAt(start) | 32);
      } else {
        if (before !== NONE) take(text, start, at, hash);
        start = at;
        hash = SEED;
      }
      before = kind;
    }
    shorter = hash;
    // Letters in lower case; digits have this bit already.
    hash = step(hash, code | 32);
  }
  return text.length;
}

// FNV-1a.
const SEED = 0x811c9dc5 | 0;

function step(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193);
}

function hashOf(word: string): number {
  let hash = SEED;
  for (let at = 0; at < word.length; at++) hash = step(hash, word.charCodeAt(at));
  return hash;
}

// Whether a text has this word, in lower case, from `start` to `end`.
function isSame(word: string, text: string, start: number, end: number): boolean {
  if (word.length !== end - start) return false;
  for (let at = 0; at < word.length; at++) {
    const code = text.charCodeAt(start + at);
    if (word.charCodeAt(at) !== (code >= 65 && code <= 90 ? code + 32 : code)) return false;
  }
  return true;
}

const NONE = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const ODD = 4;

const KINDS = Uint8Array.from({ length: 128 }, (_, code) => {
  if (code >= 97 && code <= 122) return LOWER;
  if (code >= 65 && code <= 90) return UPPER;
  return code >= 48 && code <= 57 ? DIGIT : NONE;
});

// Dashes and quotation marks of print are no letters, and quite common.
function isHarmless(code: number): boolean {
  return code >= 0x2010 && code <= 0x2027;
}

// Scripts without spaces: every two neighbours are a word.
function pairs(text: string): string[] {
  if (text.length < 2) return [text];
  const found: string[] = [];
  for (let at = 0; at + 1 < text.length; at++) found.push(text.slice(at, at + 2));
  return found;
}
