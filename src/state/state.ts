// The state that calls share: on this machine in files, or in a fleet in Redis.

import type { AuditLog } from '../audit/log.js';
import type { AuditSink } from '../audit/sinks.js';
import type { Approvals } from '../core/approval.js';
import type { LabelAdmin, SessionLabels } from '../core/label.js';
import type { ResultStore } from '../core/store.js';
import type { ApprovalAdmin } from '../policy/approvals.js';
import type { PinStore } from '../policy/pins.js';
import type { Limiter } from '../runtime/limiter.js';
import type { ListingFiles } from '../upstream/catalog/listing-file.js';

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
