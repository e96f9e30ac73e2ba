// The text executor: returns the text of a file, rendered with the input.

import { dirname } from 'node:path';
import { ToolError } from '../../core/error.js';
import type { Executor } from '../../core/executor.js';
import { isRecord, type Json } from '../../core/json.js';
import type { Plan } from '../../core/plan.js';
import { type Output, textPart } from '../../core/result.js';
import type { Referent, TextReference } from '../../core/skill.js';
import type { Snapshot } from '../../core/snapshot.js';
import { actionOf, type Tool } from '../../core/tool.js';
import { digestAsFile, digestFile } from '../../files/digest.js';
import { readHead, sameIdentity } from '../../files/read.js';
import { renderText } from '../../formats/shared/render.js';

/** Options of `createTextExecutor`. */
export interface TextExecutorOptions {
  /** Resolves a reference in a text of this directory. */
  readonly refer: (reference: TextReference, directory: string, snapshot: Snapshot) => Referent | undefined;
}

const MAX_BYTES = 4 * 1024 * 1024;

/** Creates the executor of tools that return the text of a file. */
export function createTextExecutor({ refer }: TextExecutorOptions): Executor<'text'> {
  return {
    kind: 'text',
    digest(tool) {
      const { file, identity } = actionOf(tool, 'text');
      const hashed = digestFile(file, digestParts(tool));
      if ('fault' in hashed) throw changed(tool, `can no longer be read: ${hashed.message}`);
      if (!sameIdentity(hashed.identity, identity)) throw changed(tool, 'changed while it was being read');
      return hashed.digest;
    },
    plan: async (tool, input, { timeoutMs }) => ({
      kind: 'text',
      tool,
      input,
      timeoutMs,
      file: actionOf(tool, 'text').file,
    }),
    run: async (plan, { snapshot }) => renderFile(plan, snapshot, refer),
  };
}

function renderFile(plan: Plan, snapshot: Snapshot, refer: TextExecutorOptions['refer']): Output {
  const { tool, input } = plan;
  const { file, start } = actionOf(tool, 'text');
  const reading = readHead(file, MAX_BYTES);
  if ('fault' in reading) throw changed(tool, `can no longer be read: ${reading.message}`);
  // The policy decided on these bytes.
  if (digestAsFile(reading.bytes, digestParts(tool)) !== tool.origin.digest)
    throw changed(tool, 'changed after it was planned');
  const text = reading.bytes.toString('utf8').slice(start);
  const rendered = renderText(text, {
    values: valuesOf(tool, input),
    refer: (reference) => refer(reference, dirname(file), snapshot),
  });
  return { content: [textPart(rendered)] };
}

// Returns the value of every declared parameter: the given one, or its default.
function valuesOf(tool: Tool, input: Json): Map<string, Json | undefined> {
  const { properties } = tool.input.json;
  const given = isRecord(input) ? (input as Readonly<Record<string, Json>>) : {};
  return new Map(
    Object.entries(isRecord(properties) ? properties : {}).map(([name, schema]) => [
      name,
      Object.hasOwn(given, name) ? given[name] : isRecord(schema) ? (schema.default as Json | undefined) : undefined,
    ]),
  );
}

function digestParts(tool: Tool): readonly string[] {
  return [tool.origin.format, tool.name];
}

function changed(tool: Tool, how: string): ToolError {
  return new ToolError('integrity', `${tool.name} ${how}, so it was not read`, { hint: 'call it again' });
}
