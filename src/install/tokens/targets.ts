// Path tokens such as `{{self}}` and `{{tools:…}}`: finds them, resolves them to items of the same source and renders them.

import { dirname, join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { isWithin } from '../../files/within.js';
import {
  effectiveName,
  findLinkFault,
  findNameFault,
  type ItemKind,
  isItemKind,
  isSafePath,
  linkPath,
} from '../manifest/item-name.js';
import type { SourceItem } from '../sources/source-item.js';

/** The items of one source. */
export interface Siblings {
  readonly prefix: string | null;
  readonly byName: ReadonlyMap<string, readonly SourceItem[]>;
  /** Returns the id of another source that has such an item. */
  findElsewhere(kind: ItemKind | null, name: string): string | undefined;
}

/** Where the store is, and which paths can be written with `~`. */
export interface Rendering {
  readonly store: string;
  readonly home: string | undefined;
}

type ReferenceFault =
  | 'no such item'
  | 'tool without entrypoint'
  | 'ambiguous kind'
  | "another source's item"
  | 'not a valid reference';

/** Returns the siblings of each item: the items of its plugin, or those that belong to none. */
export function groupSiblings(
  items: readonly SourceItem[],
  prefixOf: (plugin: string | null) => string | null,
  findElsewhere: Siblings['findElsewhere'] = () => undefined,
): (item: Pick<SourceItem, 'plugin'>) => Siblings {
  const groups = new Map<string | null, Map<string, SourceItem[]>>();
  for (const item of items) {
    const byName = groups.get(item.plugin) ?? new Map<string, SourceItem[]>();
    byName.set(item.name, [...(byName.get(item.name) ?? []), item]);
    groups.set(item.plugin, byName);
  }
  return ({ plugin }) => ({ prefix: prefixOf(plugin), byName: groups.get(plugin) ?? new Map(), findElsewhere });
}

/** Returns the item that a token refers to, or why there is none (TOK-5). */
export function resolveToken(token: Token, own: SourceItem, siblings: Siblings): SourceItem | ReferenceFault {
  if (token.head === 'self' || token.head === 'data') return own;
  if (token.head === 'root') return resolveReference(`plugin:${own.plugin}`, siblings);
  return resolveReference(token.head === 'tools' ? `tool:${token.ref}` : token.ref, siblings, {
    anyKind: token.head === 'ns',
    needsBin: token.head === 'tools',
  });
}

/** Resolves `name` or `kind:name`. */
export function resolveReference(
  ref: string,
  { byName, findElsewhere }: Siblings,
  { anyKind = false, needsBin = false } = {},
): SourceItem | ReferenceFault {
  const match = /^(?:([^:]*):)?([^:]*)$/.exec(ref);
  const [, kind, name = ''] = match ?? [];
  if (match === null || findNameFault(name) !== undefined || !(kind === undefined || isItemKind(kind)))
    return 'not a valid reference';
  // The directory of a plugin often has the name of its only skill; it is meant only if its kind is written.
  const matching = (byName.get(name) ?? []).filter((item) =>
    kind === undefined ? item.kind !== 'plugin' : item.kind === kind,
  );
  const [first] = matching;
  if (first === undefined)
    return findElsewhere(kind ?? null, name) === undefined ? 'no such item' : "another source's item";
  if (matching.length > 1 && !anyKind) return 'ambiguous kind';
  if (needsBin && first.bin === null) return 'tool without entrypoint';
  return first;
}

interface RenderOptions extends Rendering {
  readonly prefix: string | null;
  /** Whether a path in the home directory is written with `~` (TOK-6). */
  readonly tilde: boolean;
}

/** Returns the text that replaces a token: a path in the store, or a name for `ns`. */
export function renderToken(
  { head }: Token,
  target: SourceItem,
  { store, home, prefix, tilde }: RenderOptions,
): string {
  const name = head === 'root' ? (prefix ?? target.name) : effectiveName(prefix, target.name);
  if (head === 'data') return join(dirname(store), 'plugin-data', prefix ?? target.plugin!);
  if (head === 'ns') return target.kind === 'agent' ? target.ownName : name;
  const directory = join(store, target.kind, name);
  const path = head === 'tools' ? join(directory, target.bin!) : directory;
  if (!tilde || home === undefined || !isWithin(home, store)) return path;
  return `~${path.slice(home.replace(/\/$/, '').length)}`;
}

const HINTS: Readonly<Record<ReferenceFault, string>> = {
  'no such item': 'fix the name, or add the item to this source',
  'tool without entrypoint': 'add bin: to its TOOL.md, or a file with the name of the tool',
  'ambiguous kind': 'write the kind before the name: {{path:tool:name}}',
  "another source's item": 'tokens can only refer to items of the same source; add the item to this source',
  'not a valid reference': 'write {{tools:name}}, {{path:name}}, {{path:kind:name}} or {{ns:name}}',
};

interface ReferencePosition {
  readonly item: SourceItem;
  readonly file: string;
  readonly line: number;
}

export function badReference(text: string, cause: ReferenceFault, { item, file, line }: ReferencePosition): ToolError {
  const token = quoteOutside(text, 120);
  return new ToolError(
    'bad_reference',
    `${item.kind} ${item.name}: ${quoteOutside(file, 200)}:${line}: ${token}: ${cause}`,
    { hint: HINTS[cause], data: { kind: item.kind, item: item.name, file, line, token, cause } },
  );
}

/** Throws if an item cannot be linked, or if its entrypoint is outside it; whether that exists is checked later. */
export function assertSafeItem(item: SourceItem): void {
  const { kind, name, bin, link } = item;
  const linked = link ?? linkPath(item, name);
  const fault = linked === null ? undefined : findLinkFault(kind, linked);
  if (fault !== undefined)
    throw new ToolError('invalid_definition', `the link ${quoteOutside(linked!, 80)} of the ${kind} ${fault}`, {
      hint: 'rename the item',
    });
  if (bin === null || isSafePath(bin)) return;
  throw new ToolError(
    'path_escape',
    `the bin of the ${kind} ${name} is outside its directory: ${quoteOutside(bin, 120)}`,
    { hint: 'use a path inside the directory of the tool' },
  );
}

type TokenHead = 'self' | 'tools' | 'path' | 'ns' | 'root' | 'data';

export interface Token {
  readonly head: TokenHead;
  /** The part after the colon, trimmed. */
  readonly ref: string;
  /** The whole token as written. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

// Bounded length and no nested braces keep matching linear (TOK-9). Triple braces belong to other template languages.
const BRACES = /(?<!\{)\{\{([^{}\n]{1,300})\}\}(?!\})/g;
const TOKEN = /^\s*(?:(self)|(tools|path|ns)\s*:(.*))\s*$/s;

/** Returns the tokens in order; other text in braces is ignored (TOK-3). */
export function findTokens(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(BRACES)) {
    const inner = TOKEN.exec(match[1]!);
    if (inner === null) continue;
    tokens.push({
      head: (inner[1] ?? inner[2]) as TokenHead,
      ref: (inner[3] ?? '').trim(),
      text: match[0],
      start: match.index,
      end: match.index + match[0].length,
    });
  }
  return tokens;
}

const PLUGIN_TOKEN = /\$\{(?:CLAUDE_)?PLUGIN_(ROOT|DATA)\}/g;

/** Returns the tokens of a plugin, such as `${CLAUDE_PLUGIN_ROOT}`; in its servers there are no others (INS-63). */
export function findPluginTokens(text: string): Token[] {
  return [...text.matchAll(PLUGIN_TOKEN)].map((match) => ({
    head: match[1] === 'ROOT' ? 'root' : 'data',
    ref: '',
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** Replaces each token with its rendered value. */
export function replaceTokens(text: string, tokens: readonly Token[], render: (token: Token) => string): string {
  const parts: string[] = [];
  let at = 0;
  for (const token of tokens) {
    parts.push(text.slice(at, token.start), render(token));
    at = token.end;
  }
  parts.push(text.slice(at));
  return parts.join('');
}
