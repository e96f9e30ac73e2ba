// Routes of the approval inbox, over the stored approvals of all processes.

import type { CallerKind } from '../../core/caller.js';
import { describeLabel } from '../../core/label.js';
import { quoteOutside } from '../../core/text.js';
import type { Approval, NodeToolbox } from '../../node.js';
import { approvalRows, changeLines } from '../../policy/approval-text.js';
import type { ApprovalState } from '../../policy/approvals.js';
import type { ApprovalItem } from '../api.js';
import { LOOK_AGAIN, outdated, type PageParts } from './parts.js';
import type { Handlers } from './route.js';

// Those of the fleet, if this is one of its fronts.
type Store = NodeToolbox['state']['sharedApprovals'];

export function createApprovalRoutes({ toolbox }: PageParts) {
  return {
    'GET /api/approvals': async () => {
      const store = toolbox.state.sharedApprovals;
      const approvals = await store.list();
      return { approvals: await Promise.all(approvals.map((approval) => toApprovalItem(store, approval))) };
    },
    'GET /api/labels': async () => {
      const sessions = await toolbox.state.labels.list();
      return {
        sessions: sessions.map(({ id, of, labels }) => ({
          id,
          of: quoteOutside(of, 80),
          labels: labels.map(describeLabel),
        })),
      };
    },
    'POST /api/approvals/:id': async ({ params, body }) => {
      const store = toolbox.state.sharedApprovals;
      const found = await findShown(store, params.id!, body.digest);
      const isDenied = body.answer === 'deny';
      // UI-8: an answer that is sent again does not undo another one.
      if (!isDenied && found.state !== 'pending')
        throw outdated('conflict', `${found.record.tool} was not approved: the call is ${found.state} already`);
      const approval = isDenied
        ? await store.deny(found.id, body.reason)
        : await store.approve(found.id, body.answer === 'always');
      return { approval: await toApprovalItem(store, approval) };
    },
    'POST /api/approvals': async ({ body }) => {
      const store = toolbox.state.sharedApprovals;
      const found = await Promise.all(body.deny.map(({ id, digest }) => findShown(store, id, digest)));
      for (const { id } of found) await store.deny(id, body.reason);
      return { denied: found.map(({ id }) => id) };
    },
  } satisfies Partial<Handlers>;
}

// UI-8: an answer names the plan that the person saw.
async function findShown(store: Store, id: string, digest: string): Promise<Approval> {
  const found = await store.find(id);
  if (found.record.planDigest === digest) return found;
  throw outdated('conflict', 'nothing was decided: the call is not the one that was shown', LOOK_AGAIN);
}

async function toApprovalItem(store: Store, approval: Approval): Promise<ApprovalItem> {
  const { id, state, since, record } = approval;
  const space = record.principal.indexOf(' ');
  const until = store.expiry(approval);
  const changes = state === 'pending' ? await store.changes(record) : undefined;
  return {
    id,
    state: state as Exclude<ApprovalState, 'last'>,
    tool: record.tool,
    caller: { kind: record.principal.slice(0, space) as CallerKind, name: record.principal.slice(space + 1) },
    rows: approvalRows(record),
    input: record.input,
    digest: record.planDigest,
    reason: record.reason,
    changes: changes && { since: changes.since, lines: changeLines(changes) },
    since: new Date(since).toISOString(),
    until: until === null ? null : new Date(until).toISOString(),
    note: approval.note,
  };
}
