// Wraps text for a terminal: lines no longer than a width, unless a word is.

/** The width that help is written for. */
export const HELP_WIDTH = 100;

/** Text in lines of at most `width`, its own line breaks kept. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const indent = /^\s*/.exec(line)![0].slice(0, 20);
    return wrapWords(line.trim().split(/\s+/), width - indent.length).map((part) =>
      `${indent}${part}`.trimEnd(),
    );
  });
}

/** Words in lines of at most `width`; a longer word has a line of its own. */
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

/** The first sentences of a text, on one line, as many as fit the limit; one that is too long is cut. */
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
