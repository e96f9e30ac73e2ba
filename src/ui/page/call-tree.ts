// Calls as a tree: nested and delegated calls below their callers, newest first, with filters.

import type { CallRow, RunningRow } from '../api.js';

export type AnyCall = (CallRow & { readonly isRunning: false }) | (RunningRow & { readonly isRunning: true });

export interface CallNode {
  readonly call: AnyCall;
  readonly depth: number;
}

export interface CallFilter {
  readonly caller: string;
  readonly tool: string;
  /** `allow`, `ask`, `deny`, `failed`, `running`, or empty for all. */
  readonly verdict: string;
  /** Only calls of this directory. */
  readonly workdir?: string | undefined;
}

/** Returns the calls in display order. A call is shown if it matches, and with it the calls that it belongs to. */
export function toCallTree(
  calls: readonly CallRow[],
  running: readonly RunningRow[],
  filter: CallFilter,
): readonly CallNode[] {
  const finished = new Set(calls.map(({ id }) => id));
  const all: AnyCall[] = [
    ...calls.map((call) => ({ ...call, isRunning: false as const })),
    ...running.filter(({ id }) => !finished.has(id)).map((call) => ({ ...call, isRunning: true as const })),
  ].sort((a, b) => startOf(b) - startOf(a));
  const known = new Set(all.map(({ id }) => id));
  const children = new Map<string | null, AnyCall[]>();
  for (const call of all) {
    const parent = call.parent !== null && known.has(call.parent) && call.parent !== call.id ? call.parent : null;
    children.set(parent, [...(children.get(parent) ?? []), call]);
  }
  const walk = (parent: string | null, depth: number): CallNode[] =>
    (children.get(parent) ?? []).flatMap((call) => {
      const below = walk(call.id, depth + 1);
      return below.length > 0 || matches(call, filter) ? [{ call, depth }, ...below] : [];
    });
  return walk(null, 0);
}

/** When a call started, in milliseconds since 1970. */
function startOf(call: AnyCall): number {
  return call.isRunning ? Date.parse(call.since) : Date.parse(call.time) - call.durationMs;
}

function matches(call: AnyCall, { caller, tool, verdict, workdir = call.workdir }: CallFilter): boolean {
  const { user = '', session = '' } = call.isRunning ? {} : call;
  const isCaller = [call.caller, user, session].some((name) => contains(name, caller));
  const isAsked = isCaller && contains(call.tool, tool) && hasOutcome(call, verdict);
  return isAsked && call.workdir === workdir;
}

function contains(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}

function hasOutcome(call: AnyCall, verdict: string): boolean {
  if (verdict === '') return true;
  if (call.isRunning) return verdict === 'running';
  return verdict === 'failed' ? call.code !== null : call.verdict === verdict;
}
