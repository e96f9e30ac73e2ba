// Turns the header of a script into the schemas and traits of its tool.

import { type JsonSchema, NO_PARAMETERS } from '../../core/schema.js';
import type { Traits } from '../../core/tool.js';
import type { ScriptHeader } from './header.js';

/** Returns the input schema: one property per parameter, in header order (SCR-8). */
export function toInputSchema({ parameters }: ScriptHeader): JsonSchema {
  if (parameters.length === 0) return NO_PARAMETERS;
  const required = parameters.filter((parameter) => parameter.required).map(({ name }) => name);
  return {
    type: 'object',
    properties: Object.fromEntries(
      parameters.map(({ name, type, keywords, description }) => [name, { type, ...keywords, description }]),
    ),
    ...(required.length > 0 ? { required } : {}),
  };
}

export function toOutputSchema({ returns }: ScriptHeader): JsonSchema | undefined {
  if (returns === undefined) return undefined;
  const { type, keywords, description } = returns;
  return { type, ...keywords, ...(description === '' ? {} : { description }) };
}

export function toTraits({ group, tags, flags, timeoutMs, examples, sandbox, runOn }: ScriptHeader): Traits {
  return {
    group,
    tags,
    hidden: flags.has('hidden'),
    terminal: flags.has('terminal'),
    readOnly: flags.has('readonly') || undefined,
    destructive: flags.has('destructive') || undefined,
    timeoutMs,
    sandbox,
    runOn,
    examples,
  };
}
