// Finds code in Markdown: fenced blocks and code spans.

/** Range of characters; the end is exclusive. */
export type Range = readonly [start: number, end: number];

const FENCE = /^[ \t>]*(`{3,}|~{3,})(.*)$/;

/** Returns the code ranges of a text in order. An unclosed fence extends to the end. */
export function findCode(text: string): Range[] {
  const ranges: Range[] = [];
  let fence: { mark: string; start: number } | undefined;
  let paragraph = 0;
  let at = 0;
  while (at <= text.length) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    const line = text.slice(at, end).replace(/\r$/, '');
    const match = FENCE.exec(line);
    if (fence !== undefined) {
      if (match !== null && closes(fence.mark, match[1]!, match[2]!)) {
        ranges.push([fence.start, end]);
        fence = undefined;
        paragraph = end;
      }
    } else if (match !== null && !(match[1]![0] === '`' && match[2]!.includes('`'))) {
      addSpans(text, paragraph, at, ranges);
      fence = { mark: match[1]!, start: at };
    } else if (line.trim() === '') {
      // A code span does not cross an empty line.
      addSpans(text, paragraph, at, ranges);
      paragraph = end;
    }
    at = end + 1;
  }
  if (fence === undefined) addSpans(text, paragraph, text.length, ranges);
  else ranges.push([fence.start, text.length]);
  return ranges;
}

function closes(open: string, mark: string, rest: string): boolean {
  return mark[0] === open[0] && mark.length >= open.length && rest.trim() === '';
}

// A span extends from a run of backticks to the next run of the same length; an unmatched run is text.
function addSpans(text: string, from: number, to: number, ranges: Range[]): void {
  const runs = [...text.slice(from, to).matchAll(/`+/g)].map(({ 0: run, index }) => ({
    at: from + index,
    length: run.length,
  }));
  const next = new Map<number, number>();
  const partner: (number | undefined)[] = [];
  for (let index = runs.length - 1; index >= 0; index--) {
    partner[index] = next.get(runs[index]!.length);
    next.set(runs[index]!.length, index);
  }
  for (let index = 0; index < runs.length; index++) {
    const other = partner[index];
    if (other === undefined) continue;
    ranges.push([runs[index]!.at, runs[other]!.at + runs[other]!.length]);
    index = other;
  }
}
