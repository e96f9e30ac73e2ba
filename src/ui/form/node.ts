// Reads a schema node as a form needs it: references resolved, `allOf` merged, conditional properties included.

import { isRecord } from '../../core/json.js';
import { type JsonSchema, lookUp, type SchemaNode } from '../../core/schema.js';
import { mergeNodes } from './merge.js';

const REFERENCES = ['$ref', '$dynamicRef', '$recursiveRef'];
const CONDITIONAL = ['then', 'else'];
// Each part is merged into a copy of the others; more are not worth showing.
const MAX_PARTS = 200;

const opened = new WeakMap<object, SchemaNode | false>();

/** Returns the keywords that apply to a value; false if no value is allowed. */
export function openNode(schema: unknown, root: JsonSchema): SchemaNode | false {
  if (schema === false) return false;
  if (!isRecord(schema)) return {};
  let known = opened.get(schema);
  if (known === undefined) {
    // A schema that contains itself for the same value restricts nothing; the validator rejects it.
    opened.set(schema, {});
    known = open(schema, root);
    opened.set(schema, known);
  }
  return known;
}

function open(schema: SchemaNode, root: JsonSchema): SchemaNode | false {
  const { allOf, dependentSchemas, ...rest } = schema;
  let node: SchemaNode = Object.fromEntries(Object.entries(rest).filter(([key]) => !REFERENCES.includes(key)));
  const targets = REFERENCES.flatMap((key) => (typeof schema[key] === 'string' ? [lookUp(root, schema[key])] : []));
  for (const part of [...targets, ...(Array.isArray(allOf) ? allOf.slice(0, MAX_PARTS) : [])]) {
    const other = openNode(part, root);
    if (other === false) return false;
    node = mergeNodes(node, other);
  }
  const conditional = CONDITIONAL.flatMap((key) => (key in schema ? [schema[key]] : []));
  if (isRecord(dependentSchemas)) conditional.push(...Object.values(dependentSchemas).slice(0, MAX_PARTS));
  for (const part of conditional) {
    const other = openNode(part, root);
    if (other !== false) node = addOptional(node, other);
  }
  return node;
}

// Whether a condition holds depends on the value, so its properties are offered and its requirements are not.
function addOptional(node: SchemaNode, other: SchemaNode): SchemaNode {
  if (!isRecord(other.properties)) return node;
  const properties: Record<string, unknown> = isRecord(node.properties) ? { ...node.properties } : {};
  for (const [name, schema] of Object.entries(other.properties)) {
    if (schema === false) continue;
    if (isEmpty(properties[name])) properties[name] = schema;
  }
  return { ...node, properties };
}

function isEmpty(schema: unknown): boolean {
  return schema === undefined || schema === true || (isRecord(schema) && Object.keys(schema).length === 0);
}
