// Who may approve a call: the approvers of the configuration, and with `four-eyes` not its caller (IDN-9). Pure.

import { readUser } from '../core/name.js';
import type { UserOf } from '../core/selector-terms.js';
import type { ApprovalSettings } from '../core/settings.js';

/** Whether a user is an approver. Nobody is without a login, nor if no approvers are configured. */
export function isApprover({ user, groups = [] }: UserOf, { approvers }: ApprovalSettings): boolean {
  if (user === undefined) return false;
  return approvers.includes(`user:${user}`) || groups.some((group) => approvers.includes(`group:${group}`));
}

/** Whether a caller may answer the question about its own call in its client. */
export function mayAnswer(caller: UserOf, settings: ApprovalSettings): boolean {
  if (settings.fourEyes) return false;
  return settings.approvers.length === 0 || isApprover(caller, settings);
}

/** Returns why an approver may not approve the calls of a principal; undefined if they may. */
export function findConflict(approver: UserOf, principal: string, settings: ApprovalSettings): string | undefined {
  if (!settings.fourEyes) return undefined;
  const caller = readUser(principal);
  // The approver may have made it, with a shared token.
  if (caller === undefined) return 'the call has no user, so it might be your own';
  // Whatever the issuer: one person can have a login and a named token.
  return fold(caller) === fold(approver.user ?? '') ? 'it is your own call' : undefined;
}

function fold(name: string): string {
  return name.normalize('NFKC').toLowerCase();
}
