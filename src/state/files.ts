// The state of one machine, in files of the wield home.

import { join } from 'node:path';
import { createAuditLog } from '../audit/log.js';
import { createResultFiles, type ResultFiles } from '../context/store/results.js';
import type { World } from '../core/snapshot.js';
import { createApprovalStore, type LocalApprovals } from '../policy/approvals.js';
import { createPinStore } from '../policy/pins.js';
import { createSessionLabels } from '../policy/session-labels.js';
import { createLimiter } from '../runtime/limiter.js';
import { createListingFiles } from '../upstream/catalog/listing-file.js';
import type { State } from './state.js';

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
