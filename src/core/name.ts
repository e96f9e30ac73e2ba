// Names of tools: grammar, the reversible encoding for providers, variable names, normalized tags.

const PART = '[A-Za-z0-9_][A-Za-z0-9_-]{0,63}';
const NAME = new RegExp(`^(?:(${PART}):)?(${PART})$`);
const RESERVED_NAMESPACES = new Set(['file', 'mcp', 'inline']);

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
