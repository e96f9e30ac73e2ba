// Sources of resources and prompts.

import type { JsonObject } from './json.js';
import type { Prompt } from './prompt.js';
import type { Resource } from './resource.js';
import type { JsonSchema } from './schema.js';
import type { Snapshot } from './snapshot.js';
import type { ModuleAction, Origin, Tool } from './tool.js';

export interface OfferSource {
  resources(snapshot: Snapshot): readonly Resource[] | Promise<readonly Resource[]>;
  prompts(snapshot: Snapshot): readonly Prompt[];
  /** Returns the tool that reads a resource, also one that is not listed; undefined if the URI is not of this source. */
  findResource(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool that starts a subscription to a resource; by default the one that reads it. */
  findSubscription?(uri: string, snapshot: Snapshot): Tool | undefined;
  /** Calls the listener when a resource changes. Returns a function that stops it; undefined if it never changes. */
  follow?(uri: string, snapshot: () => Snapshot, onUpdate: () => void): (() => void) | undefined;
  findPrompt(name: string, snapshot: Snapshot): Tool | undefined;
  /** Returns the tool that completes arguments of a prompt, by name, or of a template. */
  findCompletion?(ref: string, snapshot: Snapshot): Tool | undefined;
}

/** A resource or prompt that a module file exports, as data. */
export interface ModuleOffer {
  readonly kind: 'resource' | 'prompt';
  /** The URI, the URI template or the name. */
  readonly id: string;
  readonly fields: JsonObject;
  /** Schema of the arguments. */
  readonly input: JsonSchema;
  readonly action: ModuleAction;
  readonly origin: Origin;
}
