// Collects the `@tag` lines of a comment header.

/** Number of physical lines the header may take, including the shebang (SCR-3). */
export const HEADER_LINES = 80;

export const FLAGS = ['readonly', 'destructive', 'terminal', 'hidden'] as const;

export type HeaderFlag = (typeof FLAGS)[number];

const ALIASES: Readonly<Record<string, string>> = { desc: 'description', arg: 'param' };
const KNOWN = new Set<string>([
  'description',
  'param',
  'group',
  'tag',
  'timeout',
  'returns',
  'example',
  'env',
  'sandbox',
  ...FLAGS,
]);
const COMMENT = /^(?:#|\/\/|--)\s?(.*)$/s;
const TAG = /^@([A-Za-z][\w-]*)(?:\s+(.*))?$/s;

export interface CollectedTags {
  /** The values of each tag in header order, with continuation lines joined (SCR-4). */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly unknownTags: readonly string[];
}

export function collectTags(text: string): CollectedTags {
  const values = new Map<string, string[]>();
  const unknownTags: string[] = [];
  let current: string | undefined;
  for (const raw of text.split(/\r?\n/, HEADER_LINES).slice(1)) {
    const line = raw.trim();
    if (line === '') {
      // A blank line ends the text of a tag, not the header.
      current = undefined;
      continue;
    }
    const comment = COMMENT.exec(line);
    if (!comment) break;
    const content = comment[1]!.trim();
    const tag = TAG.exec(content);
    if (!tag) {
      if (current !== undefined) continueTag(current, values.get(current)!, content);
      continue;
    }
    const lower = tag[1]!.toLowerCase();
    const name = ALIASES[lower] ?? lower;
    current = KNOWN.has(name) ? name : undefined;
    if (current === undefined) unknownTags.push(tag[1]!);
    else values.set(name, [...(values.get(name) ?? []), tag[2]?.trim() ?? '']);
  }
  return { values, unknownTags };
}

function continueTag(tag: string, values: string[], content: string): void {
  const last = values.length - 1;
  if (tag === 'description') values[last] += `\n${content}`;
  else if (tag === 'param' || tag === 'returns' || tag === 'example') values[last] += ` ${content}`;
}
