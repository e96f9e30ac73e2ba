// Formats an input as a command line; the inverse of `readCommandInput` (MOD-22).

import { orNothing } from '../core/error.js';
import { fieldsOf } from '../core/fields.js';
import { canonicalJson, isRecord, type Json, type JsonObject, showValue } from '../core/json.js';
import type { JsonSchema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import { readCommandInput } from './input.js';
import { toParameters } from './parameters.js';
import { createTargetFinder, kindOfTarget, type TargetFinder } from './target.js';
import { addValue } from './values.js';

/** Returns the arguments for an input: one flag per parameter, or `--input` if flags cannot express it. */
export function toCommandLine(tool: Tool, input: JsonObject): string[] {
  const root = tool.input.json;
  const parameters = toParameters(root);
  const whole = ['--input', JSON.stringify(input)];
  const known = new Map(parameters.map((parameter) => [parameter.name, parameter]));
  const find = createTargetFinder(parameters);
  const line: string[] = [];
  for (const [name, value] of Object.entries(input)) {
    const parameter = known.get(name);
    if (parameter === undefined) return whole;
    line.push(...toArguments(parameter.flag, value, parameter.schema, root, find));
  }
  return readsBack(tool, line, input) ? line : whole;
}

function readsBack(tool: Tool, line: readonly string[], input: JsonObject): boolean {
  const read = orNothing(() => readCommandInput(tool, line).input);
  return read !== undefined && canonicalJson(read) === canonicalJson(input);
}

// Uses the first of these that parses back to the same value: switch, fields, repeated flag, JSON.
function toArguments(
  flag: string,
  value: Json,
  node: unknown,
  root: JsonSchema,
  find: TargetFinder,
): readonly string[] {
  const target = find(flag);
  if (typeof value === 'boolean' && kindOfTarget(target) === 'switch') {
    if (value) return [`--${flag}`];
    return find(`no-${flag}`)?.negated ? [`--no-${flag}`] : [`--${flag}=false`];
  }
  if (isRecord(value)) return toFields(flag, value as JsonObject, node, root, find) ?? [asJson(flag, value)];
  const texts = (Array.isArray(value) ? value : [value]).map(showValue);
  if (kindOfTarget(target) === 'value' && texts.length > 0 && isRead(flag, texts, value, node, root))
    return texts.flatMap((text) => [`--${flag}`, text]);
  return [asJson(flag, value)];
}

function toFields(
  flag: string,
  value: JsonObject,
  node: unknown,
  root: JsonSchema,
  find: TargetFinder,
): readonly string[] | undefined {
  const fields = new Map(fieldsOf(node, root).map((field) => [field.name, field.node]));
  const line: string[] = [];
  for (const [name, child] of Object.entries(value)) {
    const inner = `${flag}.${name}`;
    // A parameter whose name contains the dot takes precedence over the field.
    const isField = fields.has(name) && /^[\w-]+$/.test(name) && find(inner)?.parameter === find(flag)?.parameter;
    if (!isField) return undefined;
    line.push(...toArguments(inner, child, fields.get(name), root, find));
  }
  return line.length === 0 ? undefined : line;
}

function isRead(flag: string, texts: readonly string[], value: Json, node: unknown, root: JsonSchema): boolean {
  const add = (before: Json | undefined, raw: string): Json =>
    addValue(before, { raw, json: false, path: [], positional: false, flag }, node, root);
  const read = orNothing(() => texts.reduce(add, undefined as Json | undefined));
  return read !== undefined && canonicalJson(read) === canonicalJson(value);
}

function asJson(flag: string, value: Json): string {
  return `--${flag}:=${JSON.stringify(value)}`;
}
