// Splits a text into chunks for the index: whole lines, about two thousand characters each.

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
