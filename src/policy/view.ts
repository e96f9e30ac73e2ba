// Aliases of tools: what a model sees and calls, while pins, rules and records apply to the original (RES-48).

import type { ErrorValue } from '../core/error.js';
import { isRecord, type Json } from '../core/json.js';
import { memoize } from '../core/memoize.js';
import type { Fault, JsonSchema, Schema } from '../core/schema.js';
import type { Tool } from '../core/tool.js';
import type { Alias, View } from '../core/view.js';

/** Returns the tools as a model sees them. A tool whose name another one gets is not shown. */
export function withAliases(tools: readonly Tool[], view: View): readonly Tool[] {
  if (view.aliases.size === 0) return tools;
  const renamed = new Set(tools.filter((tool) => newNameOf(tool, view) !== undefined).map(({ name }) => name));
  const isTaken = ({ name, origin }: Tool): boolean =>
    origin.builtin !== true && !renamed.has(name) && renamed.has(view.originals.get(name) ?? '');
  return tools.filter((tool) => !isTaken(tool)).map((tool) => withAlias(tool, view));
}

/** Returns the tool as a model sees it; the tool itself without an alias. */
export function withAlias(tool: Tool, view: View): Tool {
  return aliasOf(tool, view) === undefined ? tool : aliasedIn(view)(tool);
}

const aliasedIn = memoize((view: View) =>
  memoize((tool: Tool): Tool => {
    const alias = aliasOf(tool, view)!;
    const { description = tool.description } = alias;
    return { ...tool, name: newNameOf(tool, view) ?? tool.name, description, input: toAliasInput(tool, alias) };
  }),
);

/** The name that a model uses instead of the tool's own. */
export function newNameOf(tool: Tool, view: View): string | undefined {
  const name = aliasOf(tool, view)?.name;
  return name !== undefined && view.originals.get(name) === tool.name ? name : undefined;
}

/** Returns an error that names the tool also by the name by which a model called it. */
export function withNewName(error: ErrorValue, tool: Tool, view: View): ErrorValue {
  const name = newNameOf(tool, view);
  if (name === undefined || !error.message.includes(tool.name)) return error;
  return { ...error, message: `${name}: ${error.message}` };
}

/** Returns the input of a model's call with the fixed values; the input itself without an alias. */
export function withFixed(tool: Tool, input: Json, view: View): Json {
  const { fixed = {} } = aliasOf(tool, view) ?? {};
  return isRecord(input) ? ({ ...input, ...fixed } as Json) : input;
}

function aliasOf({ name, origin }: Tool, { aliases }: View): Alias | undefined {
  return origin.builtin === true ? undefined : aliases.get(name);
}

/** Returns a fault for each parameter that a model cannot give. */
export function findHidden(tool: Tool, input: Json, view: View): readonly Fault[] {
  const alias = aliasOf(tool, view);
  if (alias === undefined || !isRecord(input)) return [];
  const hidden = hiddenOf(alias);
  return Object.keys(input)
    .filter((name) => hidden.has(name))
    .map((name) => ({ kind: 'unknown', path: `/${name}`, expected: '', got: '' }));
}

function hiddenOf({ hide = [], fixed = {} }: Alias): ReadonlySet<string> {
  return new Set([...hide, ...Object.keys(fixed)]);
}

function toAliasInput({ input }: Tool, alias: Alias): Schema {
  const hidden = hiddenOf(alias);
  if (hidden.size === 0) return input;
  const { properties, required, ...more } = input.json;
  const json: JsonSchema = {
    ...more,
    ...(isRecord(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).filter(([name]) => !hidden.has(name))) as Json }
      : {}),
    ...(Array.isArray(required) ? { required: required.filter((name) => !hidden.has(String(name))) } : {}),
  };
  return { json, check: input.check };
}
