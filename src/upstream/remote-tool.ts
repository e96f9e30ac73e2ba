// Tools, resources and prompts as servers describe them.

import { canonicalJson, isRecord, type Json } from '../core/json.js';
import { memoize } from '../core/memoize.js';
import type { Tool } from '../core/tool.js';
import { digestParts } from '../files/digest.js';

/** What a server lists besides tools. */
export type OfferKind = 'resource' | 'template' | 'prompt' | 'skill' | 'instructions';

/** A tool, resource, template, prompt or text of instructions as its server describes it; not validated. */
export interface RemoteTool {
  /** The name of a tool or prompt, the URI of a resource, or a URI template. */
  readonly name: string;
  /** Absent for a tool. */
  readonly offers?: OfferKind;
  /** The fields of a resource, template or prompt that clients see. */
  readonly fields?: Readonly<Record<string, Json>>;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Json;
  readonly outputSchema?: Json;
  readonly annotations?: Readonly<Record<string, Json>>;
  readonly icons?: Json;
  /** How the tool may be called: whether as a task. */
  readonly execution?: Readonly<Record<string, Json>>;
  readonly _meta?: Readonly<Record<string, Json>>;
}

// The size and the time of a resource, and the digests of a skill, change with its content, which is not pinned.
function withoutContent(tool: RemoteTool): RemoteTool {
  if (tool.offers === 'skill') {
    const { resources: _, ...fields } = tool.fields ?? {};
    return { ...tool, fields };
  }
  if (tool.offers !== 'resource' || tool.fields === undefined) return tool;
  const { size: _, annotations, ...fields } = tool.fields;
  if (!isRecord(annotations)) return { ...tool, fields };
  const { lastModified: __, ...kept } = annotations as Record<string, Json>;
  return { ...tool, fields: { ...fields, annotations: kept } };
}

/** A resource, template, prompt or skill of a server, in the catalog. */
export interface ServerOffer {
  readonly kind: OfferKind;
  /** Its URI, template or name at the server. */
  readonly id: string;
  readonly tool: Tool;
  /** As it was approved, if it changed. */
  readonly shown: Tool;
}

/** Returns the digest of a definition as the server sent it (POL-21). */
export const digestDefinition = memoize((tool: RemoteTool) =>
  digestParts([canonicalJson(withoutContent(tool) as unknown as Json)]),
);
