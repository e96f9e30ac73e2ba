// Tools, resources and prompts as servers describe them.

import type { Json } from '../core/json.js';

/** What a server lists besides tools. */
export type OfferKind = 'resource' | 'template' | 'prompt' | 'instructions';

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
