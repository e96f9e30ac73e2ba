// What the routes of the page use: the toolbox, and functions of other doors.

import type { Caller } from '../../core/caller.js';
import { ToolError } from '../../core/error.js';
import type { Toolbox } from '../../core/toolbox.js';
import type { NodeToolbox } from '../../node.js';
import type { ChangedItem, HealthCheck } from '../api.js';
import type { SessionRecording } from './recording.js';

/** What one provider is sent for each tool that a model may see. */
export type ListSent = (toolbox: Toolbox) => Promise<readonly SentDefinition[]>;

export interface SentDefinition {
  /** The name that models know it by. */
  readonly tool: string;
  readonly server: string | null;
  /** What is sent. */
  readonly sent: object;
  readonly tokens: number;
}

/** A changed tool, and how to accept it as it was shown. */
export interface Change extends ChangedItem {
  readonly accept: () => void | Promise<void>;
}

export interface PageOptions {
  readonly toolbox: NodeToolbox;
  readonly version: string;
  /** Returns the checks of `wield doctor`. */
  readonly doctor: () => Promise<readonly HealthCheck[]>;
  /** By the names of `wield list --tokens --adapter`. */
  readonly providers: Readonly<Record<string, ListSent>>;
  /** Returns installed tools whose files were modified. */
  readonly installedChanges: () => Promise<readonly Change[]>;
  /** Receives a new address of the page, after someone used one that is no longer valid. */
  readonly onAddress: (url: string) => void;
  /** Logs in to a configured server in the browser of this machine. Throws. */
  readonly login: (server: string, signal: AbortSignal) => Promise<void>;
}

export interface PageParts extends PageOptions {
  readonly recording: SessionRecording;
}

export const LOOK_AGAIN = 'reload the page and look at it again';

/** Returns the error of a request about something that is no longer as the page shows it. */
export function outdated(code: 'conflict' | 'not_found', message: string, hint = 'reload the page'): ToolError {
  return new ToolError(code, message, { hint });
}

/** The person at the page. */
export const PERSON: Caller = { kind: 'person', door: 'ui' };
