// Turns operations into tools with names that are free.

import { pathToFileURL } from 'node:url';
import { type Origin, type Place, toOrigin } from '../../core/origin.js';
import type { Finding } from '../../core/problem.js';
import type { Schema } from '../../core/schema.js';
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
  // The same for all of them, and slow.
  const url = drafts.length === 0 ? '' : pathToFileURL(drafts[0]!.body().action.file).href;
  const tools: Tool[] = [];
  const findings: Finding[] = [];
  for (const draft of drafts)
    try {
      const name = qualifiedName(draft.name, group, used);
      used.add(name);
      const origin = toOrigin('openapi', `${url}#${encodeURIComponent(name)}`, place);
      tools.push(toTool(draft, name, group, origin));
    } catch (error) {
      const { message, hint = 'rename it' } = error as Error & { hint?: string };
      findings.push({ message: `${draft.name} is left out: ${message}`, hint });
    }
  return { tools, findings: findings.slice(0, 1) };
}

// An operation of a packed document is parsed on first use.
function toTool(draft: Draft, name: string, group: string, origin: Origin): Tool {
  const { description, title, tags, labels, method, body } = draft;
  let input: Schema | undefined;
  let output: Schema | undefined;
  return {
    name,
    description,
    get input() {
      input ??= createJsonSchema(body().input, { closed: true, inspected: true });
      return input;
    },
    get output() {
      const { output: declared } = body();
      output ??= declared && createJsonSchema(declared, { inspected: true });
      return output;
    },
    get action() {
      return body().action;
    },
    origin,
    traits: {
      title,
      group,
      tags,
      hidden: false,
      terminal: false,
      examples: [],
      openWorld: true,
      ...(labels === undefined ? {} : { labels }),
      ...(READS.has(method)
        ? { readOnly: true }
        : { destructive: true, ...(method === 'POST' ? {} : { idempotent: true }) }),
    },
  };
}
