// Resumes a suspended program for a caller that can wait, such as a task, without an engine and a slot meanwhile (COD-10).

import type { Approvals } from '../core/approval.js';
import type { Cancellation } from '../core/cancellation.js';
import { isRecord } from '../core/json.js';
import type { ToolResult } from '../core/result.js';
import { RUN_CODE } from '../core/view.js';
import { call, type GivenCall } from './call.js';
import type { CallParts } from './parts.js';

const POLL_MS = 500;

/** Waits for the approvals of a suspended program, and continues it until it ends. Other results are returned as they are. */
export async function resumeWhenDecided(parts: CallParts, given: GivenCall, first: ToolResult): Promise<ToolResult> {
  const { options, cancellation } = given;
  let result = first;
  for (;;) {
    const { resume, ids } = readSuspension(result);
    const approvals = await parts.consents.approvals();
    if (resume === undefined || ids.length === 0 || approvals === undefined) return result;
    options.onPending?.(ids[0]!, ids.length > 1);
    await untilDecided(approvals, ids, cancellation);
    // The program stays suspended, so that another call can resume it.
    if (cancellation.isCancelled) return result;
    options.onPending?.();
    result = await call(parts, { ...given, ref: RUN_CODE, raw: { resume } });
  }
}

function readSuspension({ error }: ToolResult): { readonly resume?: string; readonly ids: readonly string[] } {
  const { resume, approvals } = error?.data ?? {};
  if (error?.code !== 'needs_approval' || typeof resume !== 'string' || !Array.isArray(approvals)) return { ids: [] };
  return { resume, ids: approvals.flatMap((one) => (isRecord(one) && typeof one.id === 'string' ? [one.id] : [])) };
}

async function untilDecided(approvals: Approvals, ids: readonly string[], cancellation: Cancellation): Promise<void> {
  while (!cancellation.isCancelled) {
    const pending = await Promise.all(ids.map((id) => approvals.isPending(id)));
    if (pending.includes(false)) return;
    await new Promise<void>((resolve) => {
      const stop = (): void => {
        clearTimeout(timer);
        cancellation.offCancel(stop);
        resolve();
      };
      const timer = setTimeout(stop, POLL_MS);
      cancellation.onCancel(stop);
    });
  }
}
