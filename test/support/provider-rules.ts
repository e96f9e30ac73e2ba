// What providers refuse in a tool's schema, written down once more and apart from the code that keeps to it.

type Node = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const STRICT_WORDS = new Set([
  'type',
  'description',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'anyOf',
  'enum',
]);

export interface RuleOptions {
  readonly provider: 'anthropic' | 'openai' | 'ollama' | 'any';
  readonly strict: boolean;
}

/** The reasons for which a provider would answer with an error; none where it takes the schema. */
export function refusals(schema: Node, { provider, strict }: RuleOptions): string[] {
  const found: string[] = [];
  if (schema.type !== 'object') found.push('the root is no object');
  for (const word of ['anyOf', 'oneOf', 'allOf', 'enum', 'not', '$ref', '$schema'])
    if (word in schema) found.push(`${word} at the root`);
  walk(schema, '');
  return found;

  function walk(node: unknown, at: string): void {
    if (!isRecord(node)) {
      found.push(`${at} is no object`);
      return;
    }
    const types = Array.isArray(node.type) ? node.type : node.type === undefined ? [] : [node.type];
    if (types.includes('array') && !isRecord(node.items)) found.push(`${at} has no items`);
    for (const word of ['$ref', '$defs', 'definitions', '$schema', '$id'])
      if (word in node) found.push(`${at} has ${word}`);
    if (
      Array.isArray(node.enum) &&
      new Set(node.enum.map((value) => JSON.stringify(value))).size < node.enum.length
    )
      found.push(`${at} has a choice twice`);
    if (strict) walkStrict(node, types, at);
    const { properties } = node;
    if (isRecord(properties)) {
      for (const [name, child] of Object.entries(properties)) {
        if ((provider === 'anthropic' || provider === 'any') && !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
          found.push(`${at} has a property ${name}`);
        walk(child, `${at}/${name}`);
      }
    }
    if (isRecord(node.items)) walk(node.items, `${at}/items`);
    if (isRecord(node.additionalProperties)) walk(node.additionalProperties, `${at}/*`);
    for (const word of ['anyOf', 'allOf', 'oneOf'])
      if (Array.isArray(node[word]))
        for (const [index, child] of node[word].entries()) walk(child, `${at}/${word}/${index}`);
  }

  function walkStrict(node: Node, types: readonly unknown[], at: string): void {
    for (const word of Object.keys(node)) if (!STRICT_WORDS.has(word)) found.push(`${at} has ${word}`);
    if (types.length === 0 && node.anyOf === undefined) found.push(`${at} has no type`);
    const firstKeys = ((node.anyOf as Node[] | undefined) ?? []).flatMap((branch) =>
      Object.keys((branch.properties as object | undefined) ?? {}).slice(0, 1),
    );
    if (provider === 'openai' && new Set(firstKeys).size < firstKeys.length)
      found.push(`${at} has alternatives that begin alike`);
    if (!types.includes('object')) return;
    const names = Object.keys((node.properties as object | undefined) ?? {});
    const required = (node.required as string[] | undefined) ?? [];
    if (node.additionalProperties !== false) found.push(`${at} is open`);
    if (provider === 'openai' && names.some((name) => !required.includes(name)))
      found.push(`${at} has an optional property`);
  }
}
