// Names of tools and callers, and references to tools (RES-1): grammar, encoding for providers, normalized tags.

import type { Caller } from './caller.js';
import { ToolError } from './error.js';
import type { Problem } from './problem.js';
import { quoteOutside } from './text.js';
import type { Tool } from './tool.js';

const NAME = /^(?:([A-Za-z0-9_][A-Za-z0-9_-]{0,63}):)?([A-Za-z0-9_][A-Za-z0-9_-]{0,63})$/;

const RESERVED_NAMESPACES = new Set(['file', 'mcp', 'inline']);

/** `isToolName` as a pattern of JSON Schema. */
export const TOOL_NAME_PATTERN = `^(?!(?:${[...RESERVED_NAMESPACES].join('|')}):)${NAME.source.slice(1)}`;

/** Whether text is a tool name: one part, or a namespace, a colon and one part (TOOL-2). */
export function isToolName(text: string): boolean {
  const match = NAME.exec(text);
  return match !== null && !(match[1] !== undefined && RESERVED_NAMESPACES.has(match[1]));
}

/** Maximum length of a name that every provider accepts. */
const PROVIDER_NAME_LIMIT = 64;

/**
 * Encodes a name in the characters that every provider accepts, `[A-Za-z0-9_-]` (TOOL-8). The colon becomes `--`. To
 * keep that reversible, a dash followed by a dash or the colon, with any underscores between, gets one more
 * underscore: `a:b` is `a--b`, and `a--b` is `a-_-b`.
 */
export function encodeName(name: string): string {
  return name.replace(/-_*(?=[-:])/g, '$&_').replace(':', '--');
}

/** Reverses `encodeName`. */
export function decodeName(encoded: string): string {
  return encoded.replace(/--|-(_+)(?=-)/g, (_match, underscores: string | undefined) =>
    underscores === undefined ? ':' : `-${underscores.slice(1)}`,
  );
}

/** Names of tools in characters that providers accept. */
export interface EncodedNames {
  /** Name to encoded name, for every name without a conflict. */
  readonly encode: ReadonlyMap<string, string>;
  /** Encoded name back to name. */
  readonly decode: ReadonlyMap<string, string>;
  /** Names with the same encoding. They are not in the maps. */
  readonly conflicts: readonly { readonly encoded: string; readonly names: readonly string[] }[];
}

/** Encodes all names of a catalog; names with the same encoding are conflicts, so that no call is ambiguous (TOOL-8). */
export function encodeNames(names: Iterable<string>, limit = PROVIDER_NAME_LIMIT): EncodedNames {
  const groups = new Map<string, string[]>();
  for (const name of names) {
    const encoded = encodeName(name).slice(0, limit);
    const group = groups.get(encoded);
    if (group) group.push(name);
    else groups.set(encoded, [name]);
  }
  const encode = new Map<string, string>();
  const decode = new Map<string, string>();
  const conflicts: { encoded: string; names: readonly string[] }[] = [];
  for (const [encoded, group] of groups) {
    if (group.length > 1) conflicts.push({ encoded, names: group });
    else {
      encode.set(group[0]!, encoded);
      decode.set(encoded, group[0]!);
    }
  }
  return { encode, decode, conflicts };
}

/** Returns the variable suffix of a parameter: upper case, with `_` for all but `[A-Z0-9_]` (SCR-11). */
export function variableName(parameter: string): string {
  return parameter.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
}

/** Normalizes tags: lower case, with one hyphen for runs of other characters, trimmed, without duplicates (RES-30). */
export function normalizeTags(tags: Iterable<string>): string[] {
  const normal = new Set<string>();
  for (const tag of tags) {
    const text = tag
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '');
    if (text !== '') normal.add(text);
  }
  return [...normal];
}

export type Ref = UriRef | PathRef | NameRef;

/** Matched against the origin of tools; a `file:` URI is also used as a path. */
export interface UriRef {
  readonly kind: 'uri';
  readonly scheme: 'file' | 'mcp' | 'inline';
  /** Without its fragment. */
  readonly uri: string;
  readonly fragment?: string;
}

/** Read directly, without the search path. */
export interface PathRef {
  readonly kind: 'path';
  /** As written: absolute, relative, or starting with `~`. */
  readonly path: string;
  readonly fragment?: string;
}

/** Looked up in the catalog. */
export interface NameRef {
  readonly kind: 'name';
  readonly name: string;
  /** Only possible if the name is that of a file. */
  readonly fragment?: string;
}

const MAX_LENGTH = 4096;

const SCHEME = /^(file|mcp|inline):/;

/** Parses a reference; a `#fragment` selects one tool of several. Throws `invalid_ref`. */
export function parseRef(text: unknown): Ref {
  if (typeof text !== 'string') throw invalid(`a reference of type ${typeof text}`, 'is not a string');
  if (text === '') throw invalid('an empty reference', 'does not name a tool');
  if (text.length > MAX_LENGTH) throw invalid(shown(text), `is longer than ${MAX_LENGTH} characters`);
  if (/[\0-\x1f\x7f]/.test(text)) throw invalid(shown(text), 'contains a control character');
  const { before, fragment } = splitFragment(text);
  const scheme = SCHEME.exec(before)?.[1] as UriRef['scheme'] | undefined;
  if (scheme !== undefined) {
    if (before.length === scheme.length + 1) throw invalid(shown(text), 'has nothing after its scheme');
    return { kind: 'uri', scheme, uri: before, fragment };
  }
  if (before === '') throw invalid(shown(text), 'has nothing before its fragment');
  return /[/\\]|^[.~]/.test(before)
    ? { kind: 'path', path: before, fragment }
    : { kind: 'name', name: before, fragment };
}

// Splits at the last `#`, unless a separator follows it: a directory name may contain one.
function splitFragment(text: string): { before: string; fragment?: string } {
  const at = text.lastIndexOf('#');
  if (at === -1 || /[/\\]/.test(text.slice(at))) return { before: text };
  const fragment = text.slice(at + 1);
  if (fragment === '') throw invalid(shown(text), 'has an empty fragment');
  return { before: text.slice(0, at), fragment };
}

function shown(text: string): string {
  return `"${quoteOutside(text, 80)}"`;
}

function invalid(what: string, fault: string): ToolError {
  return new ToolError('invalid_ref', `${what} ${fault}`, {
    hint: 'use a name that `wield list` shows, or the path of a file',
  });
}

/**
 * Returns the identifier of a tool in programs: any other character becomes `_`, which is also before a leading digit,
 * `then` and `toJSON`: JavaScript itself would call those (COD-5).
 */
export function toIdentifier(name: string): string {
  return name.replace(/[^\w$]/g, '_').replace(/^(?=\d|(?:then|toJSON)$)/, '_');
}

/**
 * Returns a function from the name of a tool to what a program writes for it after `tools`: its identifier if no other tool has
 * it, else its name.
 */
export function createProgramNames(tools: readonly Pick<Tool, 'name'>[]): (name: string) => string {
  const namesOf = new Map<string, string[]>();
  for (const { name } of tools) {
    const identifier = toIdentifier(name);
    namesOf.set(identifier, [...(namesOf.get(identifier) ?? []), name]);
  }
  return (name) => {
    const identifier = toIdentifier(name);
    return (namesOf.get(identifier) ?? []).every((other) => other === name) ? identifier : name;
  };
}

/** Returns the expression of a tool in programs: `tools.NAME` or `tools["NAME"]`. */
export function toProgramExpression(programName: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(programName) ? `tools.${programName}` : `tools["${programName}"]`;
}

/** `mcp:cursor`, `cli`, `library`: the door, and the client's name where it gave one. */
export function formatCaller({ door, name }: Caller): string {
  return name === undefined ? door : `${door}:${quoteOutside(name, 60)}`;
}

/** Identifies whose approvals, limits, programs and cached answers a call has: those of a user, else of a client. */
export function callerKey(caller: Caller): string {
  const { kind, user, issuer } = caller;
  if (user === undefined) return `${kind} ${formatCaller(caller)}`;
  // An issuer has no spaces, and no door is called `user`.
  return `${kind} user ${user} at ${issuer ?? 'host'}`;
}

/** Returns the user whose calls a key of `callerKey` names, if they have one. */
export function readUser(key: string): string | undefined {
  return readIdentity(key)?.replace(/ at \S+$/, '');
}

/** Returns the user with their issuer, whatever the kind of their calls; undefined if a key of `callerKey` names none. */
export function readIdentity(key: string): string | undefined {
  return /^\w+ user ([\s\S]+ at \S+)$/.exec(key)?.[1];
}

// Names of other systems for built-in tools (docs/coming-from/botholomew.md).
const OTHER_PREFIXES = [['membot_', 'context_']] as const;

/** Returns the built-in tool that another system calls by this name, if any. */
export function otherName(name: string): string | undefined {
  const found = OTHER_PREFIXES.find(([theirs]) => name.startsWith(theirs));
  return found && found[1] + name.slice(found[0].length);
}

/** Returns `mcp://server/tool`. */
export function toRemoteUri(server: string, tool: string): string {
  return `mcp://${encodeURIComponent(server)}/${encodeURIComponent(tool)}`;
}

/** Returns the server of a tool and its name there; undefined if it is not a tool of a server, or a skill. */
export function readRemote({ origin, traits }: Tool): { readonly server: string; readonly name: string } | undefined {
  const { uri, server } = origin;
  if (origin.owner !== 'upstream' || uri === null || typeof server !== 'string' || traits.text === true)
    return undefined;
  return { server, name: decodeURIComponent(uri.slice(uri.lastIndexOf('/') + 1)) };
}

/** The tag of every built-in tool. */
export const BUILTIN_TAG = 'meta-internal';

export function isReservedTag(tag: string): boolean {
  return tag.startsWith('meta-');
}

/** Removes reserved tags from a tool and reports them; returns the tool itself if it has none. */
export function withoutReservedTags(
  tool: Tool,
  path: () => string,
): { readonly tool: Tool; readonly problem?: Problem } {
  if (!tool.traits.tags.some(isReservedTag)) return { tool };
  const claimed = tool.traits.tags.filter(isReservedTag);
  const tags = tool.traits.tags.filter((tag) => !isReservedTag(tag));
  return {
    // Copies descriptors, because tools of a large document parse schema and action on first access.
    tool: Object.defineProperties({} as Tool, {
      ...Object.getOwnPropertyDescriptors(tool),
      traits: { value: Object.freeze({ ...tool.traits, tags }), enumerable: true },
    }),
    problem: {
      severity: 'warning',
      path: path(),
      message: `the tool "${tool.name}" has reserved tags: ${claimed.map((tag) => `#${tag}`).join(', ')}`,
      hint: 'use tags that do not begin with meta-',
    },
  };
}
