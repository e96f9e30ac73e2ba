// The parts of a toolbox that a call uses.

import type { Catalog } from '../catalog/catalog.js';
import type { Approvals } from '../core/approval.js';
import type { Caller } from '../core/caller.js';
import type { Dispatcher, Executor } from '../core/executor.js';
import type { SessionLabels } from '../core/label.js';
import type { CascadeResolver } from '../core/skill.js';
import type { Snapshot, Workspace } from '../core/snapshot.js';
import type { Stores } from '../core/store.js';
import type { Tool } from '../core/tool.js';
import type { Rules } from '../policy/rules.js';
import type { Limiter } from './limiter.js';
import type { MiddlewareChain } from './middleware.js';
import type { Observers } from './observers.js';

export interface CallParts {
  readonly workspace: Workspace;
  readonly catalog: Catalog;
  readonly executors: Executors;
  readonly cascade: CascadeResolver;
  readonly consents: Consents;
  readonly limiter: Limiter;
  readonly observers: Observers;
  readonly middleware: MiddlewareChain;
  /** What sessions have read; undefined if no rule can depend on it. */
  readonly labels: SessionLabels | undefined;
  /** Undefined if results are always returned inline. */
  readonly stores: Stores | undefined;
}

/** The executors of a toolbox, and the digests of the tools they run. */
export interface Executors {
  of(tool: Tool): Executor;
  /** Runs some plans on other machines. */
  readonly dispatcher: Dispatcher | undefined;
  /** Returns the tool with its digest, frozen (TOOL-6). Throws `integrity` if its files changed since it was read. */
  withDigest(tool: Tool): Tool;
  clearDigests(): void;
  close(): Promise<void>;
}

/** What people agreed to: pinned definitions of tools, and approvals of calls. */
export interface Consents {
  /** Compares a tool with its pinned definition and, if it is installed, with the installed files. */
  check(tool: Tool, caller: Caller): Pick<Rules, 'changes' | 'altered'>;
  /** Pins the new definition of a tool that was approved after a change (POL-21). */
  accept(tool: Tool, snapshot: Snapshot): Promise<void>;
  /** Undefined if there is no store. */
  readonly approvals: Approvals | undefined;
  /** Whether this process was started by a tool, and so nobody can consent in it (A44). */
  isInsideCall(): boolean;
}

/** The consents of a toolbox that stores none. */
export const NO_CONSENTS: Consents = {
  check: () => ({}),
  accept: async () => {},
  approvals: undefined,
  isInsideCall: () => false,
};
