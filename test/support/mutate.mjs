// Damages messages: bytes, tokens and structure. Plain JavaScript, because hostile servers and modules use it too.

/** Returns a generator of numbers from 0 to 1 that depends only on its seed. */
export function createRandom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Texts of JSON, most of them valid.
const TOKENS = [
  ...['01', '-01', '-0', '+1', '.5', '1.', '1e999', '1e-999', '0x1', 'NaN', '9007199254740993', '123456789012345678'],
  ...[
    'null',
    'true',
    'false',
    '[]',
    '{}',
    '[[]]',
    '[null]',
    '{"a":null}',
    '""',
    '"\u0000"',
    '"\u0001\u001f"',
    '"\\u0000"',
  ],
  ...['"\\ud800"', '"\ud800"', '"\\x"', '"__proto__"', '"constructor"', '{"__proto__":{}}', '{"toString":1}'],
  ...['"a\tb"', '"\u2028"', '"\ufeff"', '[1,2,3]', '1.5', '-1', '0', '"0"', '"tools/call"', 'undefined', '\u202e'],
  ...['['.repeat(100), '['.repeat(70) + ']'.repeat(70), `"${'x'.repeat(3000)}"`],
];
const VALUES = [
  ...[null, true, false, 0, -1, 1.5, 1e308, '', 'x', '\u0000', '__proto__', 'constructor', '\ud800', 'tools/call'],
  ...[[], {}, [null], [[]], { toString: 1 }, { length: -1 }, 'x'.repeat(3000), 2 ** 53, { constructor: { name: 1 } }],
];

/** Returns a damaged copy of the text of a message. */
export function mutate(text, random) {
  const at = (length) => Math.floor(random() * length);
  const pick = (list) => list[at(list.length)];
  const kinds = [
    // Bytes.
    () => replace(text, at(text.length), 1, String.fromCharCode(at(256))),
    () => replace(text, at(text.length), 1 + at(8), ''),
    () => text.slice(0, at(text.length)),
    () => text + text.slice(at(text.length)),
    () => pick(['\ufeff', '\u0000', ' ', '\t', '\r', 'x', '[', '{']) + text,
    // Tokens.
    () => replaceToken(text, at, pick(TOKENS)),
    () => replaceToken(text, at, pick(TOKENS)),
    () => replaceId(text, pick(TOKENS)),
    () => replaceId(text, pick(TOKENS)),
    // Structure.
    () => restructure(text, at, pick(VALUES)),
    () => restructure(text, at, pick(VALUES)),
    () => `[${text},${text}]`,
  ];
  const damaged = pick(kinds)();
  return random() < 0.2 ? mutate(damaged, random) : damaged;
}

/** Returns the text of the message with one value replaced, as JSON. */
export function restructureOnly(text, random) {
  const at = (length) => Math.floor(random() * length);
  return restructure(text, at, VALUES[at(VALUES.length)]);
}

function replace(text, start, length, by) {
  return text.slice(0, start) + by + text.slice(start + length);
}

function replaceToken(text, at, token) {
  const found = [...text.matchAll(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null/g)];
  if (found.length === 0) return text + token;
  const { index, 0: old } = found[at(found.length)];
  return replace(text, index, old.length, token);
}

function replaceId(text, token) {
  return text.replace(/"id":(?:"[^"]*"|\d+)/, () => `"id":${token}`);
}

function restructure(text, at, value) {
  let document;
  try {
    document = JSON.parse(text);
  } catch {
    return text;
  }
  const places = [];
  const visit = (node) => {
    if (typeof node !== 'object' || node === null) return;
    for (const key of Object.keys(node)) {
      places.push([node, key]);
      visit(node[key]);
    }
  };
  visit(document);
  if (places.length === 0) return JSON.stringify(value);
  const [node, key] = places[at(places.length)];
  if (at(4) > 0) node[key] = value;
  else if (at(2) > 0) delete node[key];
  else node[`${key}2`] = value;
  return JSON.stringify(document);
}
