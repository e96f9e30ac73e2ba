// The size of JSON text in values, properties and levels, known before it is parsed.

export interface JsonSize {
  readonly values: number;
  readonly properties: number;
  readonly depth: number;
}

/** What is read as one value: it takes a few hundredths of a second, during which nobody else is served (TOOL-24). */
export const MOST_READ: JsonSize = { values: 100_000, properties: 25_000, depth: 256 };

/** How `MOST_READ` is named in messages. */
export const MOST_READ_TEXT = '100,000 values, 25,000 properties or 256 levels';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];

const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** Whether JSON text has more of something than a value may have. */
export function isLargeJson(text: string, most: JsonSize = MOST_READ): boolean {
  return measureJson(text, most) === undefined;
}

/** Returns the size of JSON text, undefined if it has more of something; reads no more of it than that. */
export function measureJson(text: string, most: JsonSize = MOST_READ): JsonSize | undefined {
  let deepest = 0;
  let values = 0;
  let properties = 0;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfText(text, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        values++;
        deepest = Math.max(deepest, ++depth);
        if (depth > most.depth) return undefined;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth--;
        break;
      case COMMA:
        if (++values > most.values) return undefined;
        break;
      case COLON:
        if (++properties > most.properties) return undefined;
    }
  }
  return values > most.values ? undefined : { values, properties, depth: deepest };
}

/** Returns the index of the quote that ends a text, or the end. */
export function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === BACKSLASH) before--;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

/** Returns where the members of the object begin and end that begins at `start`, by key; the last of equal keys. */
export function findMembers(text: string, start: number): Map<string, readonly [number, number]> {
  const members = new Map<string, readonly [number, number]>();
  let depth = 0;
  let key: string | undefined;
  let from = start;
  const end = (at: number): void => {
    if (key !== undefined) members.set(key, [from, at]);
    key = undefined;
    from = at + 1;
  };
  for (let at = start; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfText(text, at);
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (++depth === 1) from = at + 1;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        if (--depth > 0) break;
        end(at);
        return members;
      case COMMA:
        if (depth === 1) end(at);
        break;
      case COLON:
        if (depth !== 1 || key !== undefined) break;
        key = String(JSON.parse(text.slice(from, at)));
        from = at + 1;
    }
  }
  return members;
}
