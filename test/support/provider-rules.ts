// What providers reject in a tool's schema, independent of the code that lowers schemas.

type Node = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const STRICT_KEYWORDS = new Set([
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

/** Returns why a provider would reject the schema; empty if it accepts it. */
export function refusals(schema: Node, { provider, strict }: RuleOptions): string[] {
  const found: string[] = [];
  if (schema.type !== 'object') found.push('the root is not an object');
  for (const keyword of ['anyOf', 'oneOf', 'allOf', 'enum', 'not', '$ref', '$schema'])
    if (keyword in schema) found.push(`${keyword} at the root`);
  walk(schema, '');
  return found;

  function walk(node: unknown, at: string): void {
    if (!isRecord(node)) {
      found.push(`${at} is not an object`);
      return;
    }
    const types = Array.isArray(node.type) ? node.type : node.type === undefined ? [] : [node.type];
    if (types.includes('array') && !isRecord(node.items)) found.push(`${at} has no items`);
    for (const keyword of ['$ref', '$defs', 'definitions', '$schema', '$id'])
      if (keyword in node) found.push(`${at} has ${keyword}`);
    if (Array.isArray(node.enum) && new Set(node.enum.map((value) => JSON.stringify(value))).size < node.enum.length)
      found.push(`${at} has a duplicate enum value`);
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
    for (const keyword of ['anyOf', 'allOf', 'oneOf'])
      if (Array.isArray(node[keyword]))
        for (const [index, child] of node[keyword].entries()) walk(child, `${at}/${keyword}/${index}`);
  }

  function walkStrict(node: Node, types: readonly unknown[], at: string): void {
    for (const keyword of Object.keys(node)) if (!STRICT_KEYWORDS.has(keyword)) found.push(`${at} has ${keyword}`);
    if (types.length === 0 && node.anyOf === undefined) found.push(`${at} has no type`);
    const firstKeys = ((node.anyOf as Node[] | undefined) ?? []).flatMap((branch) =>
      Object.keys((branch.properties as object | undefined) ?? {}).slice(0, 1),
    );
    if (provider === 'openai' && new Set(firstKeys).size < firstKeys.length)
      found.push(`${at} has alternatives with the same first property`);
    if (!types.includes('object')) return;
    const names = Object.keys((node.properties as object | undefined) ?? {});
    const required = (node.required as string[] | undefined) ?? [];
    if (node.additionalProperties !== false) found.push(`${at} is open`);
    if (provider === 'openai' && names.some((name) => !required.includes(name)))
      found.push(`${at} has an optional property`);
  }
}
