// What the routes of the page use: the toolbox, and functions of other doors.

import type { Caller, Toolbox } from '../../core/toolbox.js';
import type { NodeToolbox } from '../../node.js';
import type { HealthCheck } from '../api.js';

/** What one provider is sent for each tool that a model may see. */
export type ListSent = (toolbox: Toolbox) => Promise<readonly SentDefinition[]>;

export interface SentDefinition {
  /** The name in the toolbox. */
  readonly tool: string;
  readonly server: string | null;
  /** What is sent. */
  readonly sent: object;
  readonly tokens: number;
}

export interface PageParts {
  readonly toolbox: NodeToolbox;
  readonly version: string;
  /** Returns the checks of `wield doctor`. */
  readonly doctor: () => Promise<readonly HealthCheck[]>;
  /** By the names of `wield tokens --adapter`. */
  readonly providers: Readonly<Record<string, ListSent>>;
}

/** The person at the page. */
export const PERSON: Caller = { kind: 'person', door: 'ui' };
