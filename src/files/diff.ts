// Line diff for reviewing changes.

const CONTEXT = 1;
const MAX_LINES = 2000;

/** Returns removed (`-`) and added (`+`) lines with one line of context (two spaces). */
export function lineDiff(before: string, after: string): string[] {
  const from = before === '' ? [] : before.replace(/\n$/, '').split('\n');
  const to = after === '' ? [] : after.replace(/\n$/, '').split('\n');
  const isShort = (lines: readonly string[]): boolean => lines.length <= MAX_LINES;
  if (isShort(from) && isShort(to)) return keepContext(align(from, to));
  // Only what differs of long texts, so that a change cannot hide in them.
  const length = Math.min(from.length, to.length);
  let [head, tail] = [0, 0];
  while (head < length && from[head] === to[head]) head++;
  while (tail < length - head && from.at(-1 - tail) === to.at(-1 - tail)) tail++;
  const [start, end] = [Math.max(0, head - CONTEXT), Math.max(0, tail - CONTEXT)];
  const parts = [from, to].map((lines) => lines.slice(start, lines.length - end)) as [string[], string[]];
  if (parts.every(isShort)) return keepContext(align(...parts));
  return [`- ${from.length} lines`, `+ ${to.length} lines`];
}

interface Line {
  readonly mark: '-' | '+' | ' ';
  readonly text: string;
}

// Longest common subsequence.
function align(from: readonly string[], to: readonly string[]): Line[] {
  const common = Array.from({ length: from.length + 1 }, () => new Uint16Array(to.length + 1));
  for (let i = from.length - 1; i >= 0; i--) {
    for (let j = to.length - 1; j >= 0; j--) {
      common[i]![j] = from[i] === to[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < from.length || j < to.length) {
    if (i < from.length && j < to.length && from[i] === to[j]) {
      lines.push({ mark: ' ', text: from[i]! });
      i++;
      j++;
    } else if (j >= to.length || (i < from.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push({ mark: '-', text: from[i++]! });
    } else {
      lines.push({ mark: '+', text: to[j++]! });
    }
  }
  return lines;
}

function keepContext(lines: readonly Line[]): string[] {
  const near = (at: number): boolean =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some((line) => line.mark !== ' ');
  return lines.filter((_, at) => near(at)).map(({ mark, text }) => `${mark} ${text}`);
}
