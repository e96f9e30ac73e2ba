// Collects the `@tag` lines of a comment header.

/** The first line of the headers of argc and Raycast (SCR-29). */
export const FOREIGN_SIGN = /^\s*(?:#|\/\/|--)\s*@(?:describe\s|raycast\.title\s)/m;

/** Number of physical lines the header may take, including the shebang (SCR-3). */
export const HEADER_LINES = 80;

const ALIASES: Readonly<Record<string, string>> = { desc: 'description', arg: 'param' };
export const KNOWN_TAGS: ReadonlySet<string> = new Set([
  ...['description', 'param', 'group', 'tag', 'label', 'timeout', 'returns', 'example', 'env', 'requires', 'sandbox'],
  ...['run-on', 'readonly', 'destructive', 'terminal', 'hidden', 'background'],
]);
const COMMENT = /^(?:#|\/\/|--)\s?(.*)$/s;
// A colon after the name is accepted: `@description: Text`.
const TAG = /^@([^\s:]*)(:?)(.*)$/s;
const DOCSTRING = /^[rRuU]?("""|''')/;

/** The value of a tag, and where it starts. */
export interface TagValue {
  /** With continuation lines joined (SCR-4). */
  readonly text: string;
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
}

export interface CollectedTags {
  /** The values of each tag in header order. */
  readonly values: ReadonlyMap<string, readonly TagValue[]>;
  readonly unknownTags: readonly string[];
  /** The line of code that ended the header, if one did. */
  readonly end?: { readonly line: number; readonly text: string };
}

export function collectTags(text: string): CollectedTags {
  const values = new Map<string, TagValue[]>();
  const unknownTags: string[] = [];
  let current: string | undefined;
  const lines = text.split(/\r?\n/, HEADER_LINES);
  for (let index = 1; index < lines.length; index++) {
    const raw = lines[index]!.trimEnd();
    const line = raw.trimStart();
    if (line === '') {
      // A blank line ends the text of a tag, not the header.
      current = undefined;
      continue;
    }
    const comment = COMMENT.exec(line);
    if (!comment) {
      const last = values.size === 0 ? endOfDocstring(lines, index) : undefined;
      if (last === undefined) return { values, unknownTags, end: { line: index + 1, text: line } };
      index = last;
      continue;
    }
    const content = comment[1]!.trim();
    const tag = readTag(content);
    if (tag === undefined) {
      if (current !== undefined) continueTag(current, values.get(current)!, content);
      continue;
    }
    current = KNOWN_TAGS.has(tag.name) ? tag.name : undefined;
    if (current === undefined) unknownTags.push(tag.written);
    else {
      const column = raw.length - tag.value.length + 1;
      values.set(current, [...(values.get(current) ?? []), { text: tag.value, line: index + 1, column }]);
    }
  }
  return { values, unknownTags };
}

function readTag(content: string): { name: string; written: string; value: string } | undefined {
  const match = TAG.exec(content);
  if (!match) return undefined;
  const lower = match[1]!.toLowerCase();
  const name = ALIASES[lower] ?? lower;
  if (KNOWN_TAGS.has(name)) return { name, written: match[1]!, value: match[3]!.trim() };
  const written = /^@(\S*)/.exec(content)![1]!.replace(/:$/, '');
  return { name: written.toLowerCase(), written, value: '' };
}

// A docstring before the first tag is skipped. Returns the index of its last line.
function endOfDocstring(lines: readonly string[], start: number): number | undefined {
  const first = lines[start]!.trim();
  const quotes = DOCSTRING.exec(first);
  if (!quotes) return undefined;
  if (first.slice(quotes[0].length).includes(quotes[1]!)) return start;
  for (let index = start + 1; index < lines.length; index++) if (lines[index]!.includes(quotes[1]!)) return index;
  return undefined;
}

function continueTag(tag: string, values: TagValue[], content: string): void {
  const last = values.length - 1;
  const joint =
    tag === 'description' ? '\n' : tag === 'param' || tag === 'returns' || tag === 'example' ? ' ' : undefined;
  if (joint !== undefined) values[last] = { ...values[last]!, text: `${values[last]!.text}${joint}${content}` };
}
