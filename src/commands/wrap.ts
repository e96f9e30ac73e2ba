// Wraps text for a terminal.

/** The width of help texts. */
export const HELP_WIDTH = 100;

/** Wraps text to `width` and preserves its line breaks and indentation. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const indent = /^\s*/.exec(line)![0].slice(0, 20);
    return wrapWords(line.trim().split(/\s+/), width - indent.length).map((part) => `${indent}${part}`.trimEnd());
  });
}

/** Joins words into lines of at most `width`; a longer word gets its own line. */
export function wrapWords(words: readonly string[], width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of words) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

const SENTENCE = /[.!?](?=\s)/g;

/** Returns as many sentences as fit the limit, on one line; a single longer sentence is cut. */
export function firstSentences(text: string, limit: number): string {
  const line = text.replace(/\s+/g, ' ').trim();
  if (line.length <= limit) return line;
  let end = 0;
  for (const match of line.matchAll(SENTENCE)) {
    if (match.index + 1 > limit) break;
    end = match.index + 1;
  }
  return end > 0 ? line.slice(0, end) : `${line.slice(0, limit - 1).trimEnd()}…`;
}
