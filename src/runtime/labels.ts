// Labels of sessions: read into the rules of a call, and entered before anything of its result reaches the caller (FLW-3).

import type { Caller } from '../core/caller.js';
import type { EnteredLabel } from '../core/label.js';
import { callerKey } from '../core/name.js';
import type { Tool } from '../core/tool.js';
import type { DoorOptions } from '../core/toolbox.js';
import { dependsOnLabels } from '../policy/flow.js';
import { type Rules, withLabels } from '../policy/rules.js';
import type { CallParts } from './parts.js';

export type LabelParts = Pick<CallParts, 'labels' | 'stores' | 'workspace'>;

/** What the labels of a call depend on. */
export interface LabelledCall {
  readonly caller: Caller;
  readonly options: DoorOptions;
  readonly tool?: Tool;
  gather(labels: readonly string[]): void;
}

interface Asking extends Pick<LabelledCall, 'caller' | 'options'> {
  readonly nesting: { readonly entered?: readonly EnteredLabel[] | undefined };
}

// A caller without sessions cannot say when a conversation ends.
const STATELESS_MS = 24 * 3_600_000;

/** Returns the rules of a call with what its session has read, if they depend on it. */
export async function inSession(parts: LabelParts, base: Asking, rules: Rules): Promise<Rules> {
  // The front of a dispatched call has decided.
  if (!dependsOnLabels(rules) || base.options.dispatched !== undefined) return rules;
  return withLabels(rules, await readEntered(parts, base));
}

async function readEntered(parts: LabelParts, base: Asking): Promise<readonly EnteredLabel[]> {
  const given = [...(base.options.entered ?? []), ...(base.nesting.entered ?? [])];
  return [...(await readSessions(parts, base)), ...given];
}

async function readSessions(
  parts: LabelParts,
  call: Pick<LabelledCall, 'caller' | 'options'>,
): Promise<readonly EnteredLabel[]> {
  return (await Promise.all(sessionsOf(parts, call).map((session) => parts.labels!.read(session)))).flat();
}

/** Enters labels into the session of a call, and of the calls around it. Throws if they cannot be stored. */
export async function enterLabels(parts: LabelParts, call: LabelledCall, labels: readonly string[]): Promise<void> {
  if (labels.length === 0) return;
  call.gather(labels);
  const { caller, options, tool } = call;
  const sessions = sessionsOf(parts, call);
  if (sessions.length === 0) return;
  // FLW-12: a loop that cannot be told apart from others later has no session of its own.
  if (options.joined !== undefined && parts.stores !== undefined) sessions.push(parts.stores.session);
  const at = Math.round(parts.workspace.world.now());
  const until = options.background === 'none' ? { until: at + STATELESS_MS } : {};
  const entered = labels.map((label) => ({ label, tool: tool!.name, at, ...until }));
  for (const session of sessions) await parts.labels!.enter(session, callerKey(caller), entered);
}

/** Adds what the session of a call has read to what it writes, under this name. */
export async function carryLabels(parts: LabelParts, call: LabelledCall, to: string): Promise<void> {
  const entered = await readSessions(parts, call);
  // What is written lasts longer than a conversation.
  const lasting = entered.map(({ label, tool, at }) => ({ label, tool, at }));
  if (lasting.length > 0) await parts.labels!.enter(to, to, lasting);
}

// A person at a shell has no conversation: every call is their own.
function sessionsOf(
  { labels, stores }: LabelParts,
  { caller: { kind, session = stores?.session }, options: { joined = [] } }: Pick<LabelledCall, 'caller' | 'options'>,
): string[] {
  return labels === undefined || kind === 'person' || session === undefined ? [] : [session, ...joined];
}
