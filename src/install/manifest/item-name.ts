// Names of installable items: which are safe to show, to store under and to refer to.

/** The kinds of items, in the order that they are listed in. */
export const ITEM_KINDS = ['tool', 'skill', 'agent', 'rule'] as const;

export type ItemKind = (typeof ITEM_KINDS)[number];

const MAX_NAME = 128;

export function isItemKind(value: unknown): value is ItemKind {
  return ITEM_KINDS.some((kind) => kind === value);
}

/** Why a name cannot be an item's or a namespace; undefined where it can (INS-5). */
export function findNameFault(name: string): string | undefined {
  if (name === '') return 'is empty';
  if (name.length > MAX_NAME) return `is longer than ${MAX_NAME} characters`;
  if (name !== name.normalize('NFC')) return 'is written with decomposed characters';
  if (!isPlain(name) || /[ .]$/.test(name)) return 'has characters that no name may have';
  if (/\p{Script=Latin}/u.test(name) && looksLatin(name)) return 'mixes scripts that look alike';
  return undefined;
}

// Patterns of whole scripts are made where they are used: a constant of one takes a millisecond of every start.
function isPlain(name: string): boolean {
  return /^[\p{L}\p{N}_][\p{L}\p{M}\p{N} ._+@-]*$/u.test(name);
}

// Letters of scripts that look like Latin ones: a name of both is made to be mistaken (A36).
function looksLatin(name: string): boolean {
  return /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u.test(name);
}

const NAMESPACE = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;
// Words that mean something else before a colon.
const RESERVED: readonly string[] = [...ITEM_KINDS, 'file', 'mcp', 'inline'];

/** Why a name cannot be a namespace; undefined where it can. Tools are called by it, so it is narrower than a name. */
export function findNamespaceFault(name: string): string | undefined {
  if (RESERVED.includes(name)) return 'means something else before a colon';
  return NAMESPACE.test(name) ? undefined : 'has characters that no namespace may have';
}

/** What an item is called where it is installed: under its source's namespace, where there is one. */
export function effectiveName(prefix: string | null, name: string): string {
  return prefix === null ? name : `${prefix}:${name}`;
}
