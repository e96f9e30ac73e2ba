// defineTool checks and freezes a definition; toTool turns it into a Tool.

import { isToolError, ToolError } from '../../core/error.js';
import { deepFreeze } from '../../core/json.js';
import { normalizeTags } from '../../core/name.js';
import { IN_CODE } from '../../core/origin.js';
import { joinRequirements, requirements } from '../../core/requirements.js';
import { isFailedOutput } from '../../core/result.js';
import { fillDefaults, NO_PARAMETERS, type Schema } from '../../core/schema.js';
import { readShape } from '../../core/shape.js';
import { quoteOutside } from '../../core/text.js';
import type { FunctionAction, Tool, Traits } from '../../core/tool.js';
import { parseSandboxRequest } from '../../process/sandbox/applied.js';
import { describeFaults, describeOutputFaults } from '../../schema/faults.js';
import { createJsonSchema } from '../../schema/json.js';
import { findTableEntry } from '../../schema/keywords.js';
import { createStandardSchema, isStandardSchema, parseStandard, type StandardSchema } from '../../schema/standard.js';
import {
  assertDefinition,
  assertPositionals,
  type DefinedTool,
  type DefinitionSchema,
  invalidField,
  type ToolDefinition,
} from './definition.js';

export type { DefinedTool, DefinitionSchema, FailedOutput, NoOtherKeys, ToolDefinition } from './definition.js';

/** Checks a definition and freezes it. Throws `invalid_definition` that names the field (TOOL-1). */
export function defineTool<
  const Name extends string,
  Execute extends ToolDefinition<Input, Output>['execute'],
  Input extends DefinitionSchema = never,
  Output extends DefinitionSchema = never,
>(
  definition: ToolDefinition<Input, Output> & { readonly name: Name; readonly execute: Execute },
): DefinedTool<Name, Execute, Input, Output> {
  toTool(definition as ToolDefinition);
  // A library's schema may be filled in lazily, so it is not frozen.
  for (const value of Object.values(definition)) if (!isStandardSchema(value)) deepFreeze(value);
  return Object.freeze(definition as DefinedTool<Name, Execute, Input, Output>);
}

/** Turns a definition into a tool, with traits that a definition does not have. */
export function toTool(definition: ToolDefinition, more: Pick<Traits, 'role'> = {}): Tool {
  assertDefinition(definition);
  const { name, description, inputSchema = NO_PARAMETERS, outputSchema } = definition;
  const schemaOf = (field: 'inputSchema' | 'outputSchema', schema: DefinitionSchema): Schema => {
    try {
      if (isStandardSchema(schema)) return createStandardSchema(schema, field === 'inputSchema' ? 'input' : 'output');
      assertWhole(schema);
      return createJsonSchema(schema, { closed: field === 'inputSchema' });
    } catch (error) {
      const hint = isToolError(error) ? error.hint : undefined;
      throw invalidField(name, field, (error as Error).message, { hint, cause: error });
    }
  };
  const input = schemaOf('inputSchema', inputSchema);
  const output = outputSchema === undefined ? undefined : schemaOf('outputSchema', outputSchema);
  assertPositionals(definition, input.json);
  return deepFreeze({
    name,
    description,
    input,
    output,
    action: { kind: 'function', run: toRun(definition, input), body: definition.execute },
    origin: IN_CODE,
    traits: { ...toTraits(definition), ...more },
  });
}

// In the MCP SDK, the schema of a tool may be a table of schemas; here it would be a JSON Schema that says nothing.
function assertWhole(schema: object): void {
  const [key] = Object.entries(schema).find(([, value]) => isStandardSchema(value)) ?? [];
  const name = key ?? findTableEntry(schema);
  if (name === undefined) return;
  const shown = quoteOutside(name, 60);
  const whole = key === undefined ? `{ type: "object", properties: { ${shown}: … } }` : `z.object({ ${shown}: … })`;
  throw new ToolError('invalid_definition', `is a table of schemas: ${shown} is one`, {
    hint: `write the schema of an object, such as ${whole}`,
  });
}

/** Returns tools by name. Throws `conflict` if two have the same name. */
export function toRegistry(definitions: readonly ToolDefinition[]): Map<string, Tool> {
  if (!Array.isArray(definitions))
    throw new ToolError('invalid_definition', 'tools must be a list of definitions', {
      hint: 'write createToolbox({ tools: [one, two] })',
    });
  const registry = new Map<string, Tool>();
  for (const definition of definitions) {
    const tool = toTool(definition);
    if (registry.has(tool.name)) {
      throw new ToolError('conflict', `two tools are named "${tool.name}"`, { hint: 'rename one of them' });
    }
    registry.set(tool.name, tool);
  }
  return registry;
}

// MOD-4, MOD-12: input and result are parsed by the schemas of the definition.
function toRun(definition: ToolDefinition, input: Schema): FunctionAction['run'] {
  const { name, inputSchema, outputSchema } = definition;
  // Built-in tools receive a third argument.
  const execute = definition.execute.bind(definition) as (...given: unknown[]) => unknown;
  const fills = !isStandardSchema(inputSchema) && JSON.stringify(input.json).includes('"default":');
  if (!fills && !isStandardSchema(inputSchema) && !isStandardSchema(outputSchema))
    return (value, context, ...more) => execute(value, context, ...more);
  return async (value, context, ...more) => {
    const given = isStandardSchema(inputSchema)
      ? await parseBy(inputSchema, value, (faults) => describeFaults({ name, input }, faults))
      : fillDefaults(value, input.json);
    const result = await execute(given, context, ...more);
    if (!isStandardSchema(outputSchema) || isFailedOutput(result)) return result;
    return parseBy(outputSchema, result, (faults) => describeOutputFaults(name, faults));
  };
}

async function parseBy(
  schema: StandardSchema,
  value: unknown,
  toError: (faults: Parameters<typeof describeOutputFaults>[1]) => ToolError,
): Promise<unknown> {
  const parsed = await parseStandard(schema, value);
  if (parsed.ok) return parsed.value;
  throw toError(parsed.faults);
}

function toTraits(definition: ToolDefinition): Traits {
  const { group, timeoutMs, readOnly, destructive, idempotent, openWorld, allowedTools, cli, sandbox } = definition;
  return {
    group,
    tags: normalizeTags(definition.tags ?? []),
    hidden: definition.hidden ?? false,
    terminal: definition.terminal ?? false,
    readOnly,
    destructive,
    idempotent,
    openWorld,
    labels: definition.labels === undefined ? undefined : normalizeTags(definition.labels),
    timeoutMs,
    taskOnly: definition.taskOnly === true ? true : undefined,
    sandbox: sandbox === undefined ? undefined : parseSandboxRequest(sandbox),
    requires: joinRequirements([readShape(requirements, definition.requires ?? {}).value]),
    allowedTools,
    examples: definition.examples ?? [],
    positional: cli?.positional,
  };
}
