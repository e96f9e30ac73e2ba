// What the tokens of an item mean: which sibling each names, what it becomes, and the five ways to name nothing.

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin } from '../../files/within.js';
import type { ResolvedReference } from '../manifest/installed.js';
import { effectiveName, findNameFault, type ItemKind, isItemKind } from '../manifest/item-name.js';
import { isSafePath } from '../manifest/source-fields.js';
import type { OfferedItem } from '../sources/scan.js';
import type { Token } from './find.js';

/** The items of one source, and how they are called where they are installed. */
export interface Siblings {
  readonly source: string;
  readonly prefix: string | null;
  readonly byName: ReadonlyMap<string, readonly OfferedItem[]>;
  /** The source that has such an item, where another than this one does. */
  elsewhere(kind: ItemKind | null, name: string): string | undefined;
}

/** Where paths lead, and how they are written. */
export interface Rendering {
  readonly store: string;
  readonly home: string | undefined;
}

/** Where a token stands. */
export interface Place {
  readonly item: OfferedItem;
  readonly file: string;
  readonly line: number;
}

export type Cause =
  | 'no such item'
  | 'tool without entrypoint'
  | 'ambiguous kind'
  | "another source's item"
  | 'not a valid reference';

export function toSiblings(
  source: string,
  prefix: string | null,
  items: readonly OfferedItem[],
  elsewhere: Siblings['elsewhere'],
): Siblings {
  const byName = new Map<string, OfferedItem[]>();
  for (const item of items) byName.set(item.name, [...(byName.get(item.name) ?? []), item]);
  return { source, prefix, byName, elsewhere };
}

/** The item that a token names, or why it names none (TOK-5). */
export function resolveToken(token: Token, own: OfferedItem, siblings: Siblings): OfferedItem | Cause {
  if (token.head === 'self') return own;
  return resolveReference(token.head === 'tools' ? `tool:${token.ref}` : token.ref, siblings, {
    anyKind: token.head === 'ns',
    needsBin: token.head === 'tools',
  });
}

/** The same for a written reference, `name` or `kind:name`. */
export function resolveReference(
  ref: string,
  { byName, elsewhere }: Siblings,
  { anyKind = false, needsBin = false } = {},
): OfferedItem | Cause {
  const match = /^(?:([^:]*):)?([^:]*)$/.exec(ref);
  const [, kind, name = ''] = match ?? [];
  if (match === null || findNameFault(name) !== undefined || !(kind === undefined || isItemKind(kind)))
    return 'not a valid reference';
  const fitting = (byName.get(name) ?? []).filter((item) => kind === undefined || item.kind === kind);
  const [first] = fitting;
  if (first === undefined)
    return elsewhere(kind ?? null, name) === undefined ? 'no such item' : "another source's item";
  if (fitting.length > 1 && !anyKind) return 'ambiguous kind';
  if (needsBin && first.bin === null) return 'tool without entrypoint';
  return first;
}

/** What stands in the place of a token: a path, with `~` in Markdown where the store is under home (TOK-6). */
export function renderToken(
  token: Token,
  target: OfferedItem,
  { prefix }: Siblings,
  { store, home }: Rendering,
  markdown: boolean,
): string {
  const name = effectiveName(prefix, target.name);
  if (token.head === 'ns') return name;
  const directory = join(store, target.kind, name);
  const path = token.head === 'tools' ? join(directory, target.bin!) : directory;
  if (!markdown || home === undefined || !isWithin(home, store)) return path;
  return `~${path.slice(home.replace(/\/$/, '').length)}`;
}

/** What is kept of a resolved token: the value in one form, whatever file it stands in. */
export function toResolved(
  token: Token,
  target: OfferedItem,
  siblings: Siblings,
  rendering: Rendering,
): ResolvedReference {
  const value = renderToken(token, target, siblings, rendering, false);
  return { kind: target.kind, name: target.name, value };
}

const HINTS: Readonly<Record<Cause, string>> = {
  'no such item': 'mend the name, or ship the item in the same source',
  'tool without entrypoint': 'give the tool a bin: in its TOOL.md, or a file of its own name',
  'ambiguous kind': 'write the kind before the name: {{path:tool:name}}',
  "another source's item": 'tokens reach items of the same source only: ship it here too',
  'not a valid reference': 'write {{tools:name}}, {{path:name}}, {{path:kind:name}} or {{ns:name}}',
};

export function badReference(text: string, cause: Cause, { item, file, line }: Place): ToolError {
  const shown = quoteOutside(text, 120);
  return new ToolError(
    'bad_reference',
    `${item.kind} ${item.name}: ${quoteOutside(file, 200)}:${line}: ${shown}: ${cause}`,
    { hint: HINTS[cause], data: { kind: item.kind, item: item.name, file, line, token: shown, cause } },
  );
}

/** Throws where a declared entrypoint leads out of its tool; whether it is there is asked after the build. */
export function assertSafeBin({ kind, name, bin }: OfferedItem): void {
  if (bin === null || isSafePath(bin)) return;
  throw new ToolError(
    'path_escape',
    `the bin of the ${kind} ${name} leads out of it: ${quoteOutside(bin, 120)}`,
    { hint: 'write a path below the directory of the tool' },
  );
}
