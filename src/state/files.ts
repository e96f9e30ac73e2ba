// The state that calls share: on one machine in files of the wield home, in a fleet in Redis.

import { join } from 'node:path';
import { type AuditLog, createAuditLog } from '../audit/log.js';
import type { AuditSink } from '../audit/sinks.js';
import { createResultFiles, type ResultFiles } from '../context/store/results.js';
import type { Approvals } from '../core/approval.js';
import type { LabelAdmin, SessionLabels } from '../core/label.js';
import type { World } from '../core/snapshot.js';
import type { ResultStore } from '../core/store.js';
import { type ApprovalAdmin, createApprovalStore, type LocalApprovals } from '../policy/approvals.js';
import { createPinStore, type PinStore } from '../policy/pins.js';
import { createSessionLabels } from '../policy/session-labels.js';
import { createLimiter, type Limiter } from '../runtime/limiter.js';
import { createListingFiles, type ListingFiles } from '../upstream/catalog/listing-file.js';

/** One store for everything that outlives a call. What a local call needs is synchronous: it waits for no promise. */
export interface State {
  readonly pins: PinStore;
  readonly results: ResultStore;
  /** Lines of the audit log of this machine. */
  readonly audit: AuditLog;
  readonly auditSinks: readonly AuditSink[];
  /** Tool lists of upstream servers. */
  readonly listings: ListingFiles;
  readonly limiter: Limiter;
  readonly approvals: Approvals & ApprovalAdmin;
  /** What sessions have read (FLW-5). */
  readonly labels: SessionLabels & LabelAdmin;
}

export interface FileStateOptions {
  readonly wieldHome: string;
  /** Returns the directory of the project's results. */
  readonly results: () => string;
  readonly world: World;
  /** Called with every tool list that a server of this machine gave. */
  readonly onListing?: (configuration: string, text: string) => void;
}

/** State of which nothing has to be waited for. */
export interface FileState extends State {
  readonly results: ResultFiles;
  readonly approvals: LocalApprovals;
}

/** State that several machines share. */
export interface SharedState {
  /** Called with every tool list that a server of this machine gave. */
  onListing(configuration: string, text: string): void;
  /** Returns the shared state of a toolbox; `local` holds its copies. */
  share(local: FileState): State;
}

export function createFileState({ wieldHome, results, world, onListing }: FileStateOptions): FileState {
  return {
    pins: createPinStore(wieldHome, world.now),
    results: createResultFiles({ directory: results, now: world.now }),
    audit: createAuditLog(join(wieldHome, 'audit')),
    auditSinks: [],
    listings: createListingFiles(join(wieldHome, 'cache', 'upstream'), world, onListing),
    limiter: createLimiter(),
    approvals: createApprovalStore({ directory: join(wieldHome, 'approvals'), now: world.now }),
    labels: createSessionLabels({ directory: join(wieldHome, 'labels'), now: world.now }),
  };
}
