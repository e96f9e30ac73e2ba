// Turns operations into tools with names that are free.

import { pathToFileURL } from 'node:url';
import type { Place } from '../../core/format.js';
import type { Finding } from '../../core/problem.js';
import type { Tool } from '../../core/tool.js';
import { createJsonSchema } from '../../schema/json.js';
import { qualifiedName } from './name.js';
import type { Draft } from './operations.js';

export interface NamedTools {
  readonly tools: readonly Tool[];
  readonly findings: readonly Finding[];
}

const READS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/** `taken` are names that other files of the directory have. */
export function toTools(
  drafts: readonly Draft[],
  group: string,
  place: Pick<Place, 'directory' | 'owner'>,
  taken: ReadonlySet<string>,
): NamedTools {
  const used = new Set(taken);
  const tools: Tool[] = [];
  const findings: Finding[] = [];
  for (const draft of drafts)
    try {
      const name = qualifiedName(draft.name, group, used);
      used.add(name);
      tools.push(toTool(draft, name, group, place));
    } catch (error) {
      const { message, hint = 'rename it' } = error as Error & { hint?: string };
      findings.push({ message: `${draft.name} is left out: ${message}`, hint });
    }
  return { tools, findings: findings.slice(0, 1) };
}

function toTool(
  { description, title, tags, input, output, action }: Draft,
  name: string,
  group: string,
  { directory, owner }: Pick<Place, 'directory' | 'owner'>,
): Tool {
  const { method, file } = action;
  return {
    name,
    description,
    input: createJsonSchema(input, { closed: true, inspected: true }),
    output: output && createJsonSchema(output, { inspected: true }),
    action,
    origin: {
      format: 'openapi',
      uri: `${pathToFileURL(file).href}#${encodeURIComponent(name)}`,
      directory,
      source: null,
      digest: null,
      server: null,
      owner,
    },
    traits: {
      title,
      group,
      tags,
      hidden: false,
      terminal: false,
      examples: [],
      openWorld: true,
      ...(READS.has(method)
        ? { readOnly: true }
        : { destructive: true, ...(method === 'POST' ? {} : { idempotent: true }) }),
    },
  };
}
