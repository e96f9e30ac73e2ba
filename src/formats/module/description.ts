// Descriptions of modules, cached so that listing their tools does not load them again (MOD-8).

import { cleanSchema } from '../../core/clean-schema.js';
import { isRecord } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { Finding } from '../../core/problem.js';
import type { JsonSchema } from '../../core/schema.js';
import { sanitize } from '../../core/text.js';
import type { Traits } from '../../core/tool.js';
import type { Collected } from './collect.js';

export interface DescribedTool {
  readonly export: string;
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
  readonly output?: JsonSchema;
  readonly traits: Traits;
}

export interface Description {
  /** False if loading failed. Not cached, since it may succeed later. */
  readonly loaded: boolean;
  readonly tools: readonly DescribedTool[];
  readonly findings: readonly Finding[];
}

/** Returns the tools of a loaded module as data. */
export function describe({ tools, findings }: Collected): Description {
  return {
    loaded: true,
    tools: tools.map(({ export: name, tool }) => ({
      export: name,
      name: tool.name,
      description: tool.description,
      input: tool.input.json,
      output: tool.output?.json,
      traits: tool.traits,
    })),
    findings,
  };
}

/** Validates a description that was read from disk or came from the tool host. Throws if it is invalid. */
export function readDescription(json: unknown): Description {
  if (!isRecord(json) || !Array.isArray(json.tools) || !Array.isArray(json.findings))
    throw new Error('not a description');
  for (const tool of json.tools) {
    const valid =
      isRecord(tool) &&
      typeof tool.export === 'string' &&
      typeof tool.name === 'string' &&
      isToolName(tool.name) &&
      typeof tool.description === 'string' &&
      isRecord(tool.input) &&
      isRecord(tool.traits) &&
      Array.isArray(tool.traits.tags) &&
      Array.isArray(tool.traits.examples);
    if (!valid) throw new Error('not the description of a tool');
  }
  const { tools, ...rest } = json as unknown as Description;
  return {
    ...rest,
    tools: tools.map((tool) => ({
      ...tool,
      description: sanitize(tool.description),
      input: cleanSchema(tool.input),
      output: tool.output && cleanSchema(tool.output),
    })),
  };
}
