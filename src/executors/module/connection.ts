// The connection to a tool host process: starts it, sends requests, and passes replies to those who wait for them.

import { ToolError } from '../../core/error.js';
import { parseOutput } from '../../core/json.js';
import { findMembers, isLargeJson, MOST_READ_TEXT } from '../../core/json-size.js';
import type { ModulePlan } from '../../core/plan.js';
import type { World } from '../../core/snapshot.js';
import { settlesWithin } from '../../core/time-limit.js';
import { openEgress, planEgress } from '../../net/egress/plan.js';
import type { FindRoute } from '../../net/route.js';
import { startCompanion } from '../../process/companion.js';
import { readLines } from '../../process/lines.js';
import { launcherWith } from '../../process/sandbox/egress.js';
import { prepareSandbox } from '../../process/sandbox/prepare.js';
import type { RefusedHost } from '../../process/sandbox/refusal.js';
import type { Request } from './protocol.js';
import { type CheckedReply, readReply } from './read-reply.js';

/** Start-up settings of a host; a different setting needs its own host. */
export type HostSettings = Pick<ModulePlan, 'cwd' | 'environment' | 'limits' | 'sandbox'> &
  Partial<Pick<ModulePlan, 'tool'>>;

export interface HostOptions {
  readonly world: World;
  /** Returns the entry file of the host process. */
  readonly entry: () => string;
  /** Directory of the cache of compiled code. */
  readonly cacheDirectory: string;
  /** Finds the way of requests from a sandbox with a list of hosts; all are direct without it. */
  readonly findRoute?: FindRoute;
  /** Called as soon as the host accepts no more requests, which may be before its process has ended. */
  readonly onEnd: () => void;
}

/** A request that waits for replies. */
export interface Waiter {
  readonly tool: string;
  onReply(reply: CheckedReply): void;
  /** The host has ended. */
  onLost(error: ToolError): void;
}

export interface HostConnection {
  readonly ended: Promise<unknown>;
  /** Returns the connections that its sandbox refused since it was last asked. */
  takeRefused(): readonly RefusedHost[];
  /** Registers a waiter and returns the id of its request. */
  add(waiter: Waiter): number;
  remove(id: number): void;
  send(request: Request): void;
  kill(reason: string): void;
  /** Closes the channel, and kills the host after the grace period. */
  close(graceMs: number): Promise<void>;
}

const MAX_LINE_BYTES = 256 * 1024 * 1024;
const DEFAULT_HEAP_BYTES = 1024 * 1024 * 1024;
const FLAGS = [
  '--experimental-vm-modules',
  '--experimental-import-meta-resolve',
  '--disable-warning=ExperimentalWarning',
];

export async function connectHost(settings: HostSettings, options: HostOptions): Promise<HostConnection> {
  const { world, entry, cacheDirectory, onEnd } = options;
  const { cwd, environment, limits, sandbox } = settings;
  if (sandbox !== undefined) prepareSandbox(sandbox);
  const egress = await openEgress(planEgress(settings.tool?.name ?? 'the module', sandbox), options.findRoute);
  const heap = Math.floor((limits.memoryBytes ?? DEFAULT_HEAP_BYTES) / (1024 * 1024));
  const node = [process.execPath, ...FLAGS, `--max-old-space-size=${Math.max(heap, 32)}`];
  const launcher = sandbox === undefined ? [] : launcherWith(sandbox, []);
  const argv = [...launcher, ...node, entry(), cacheDirectory];
  const {
    channel,
    ended,
    kill: killProcess,
  } = await startCompanion({ argv, filter: sandbox?.filter, egress, cwd, environment }, world);
  const waiters = new Map<number, Waiter>();
  let ids = 0;
  let killedFor: string | undefined;

  const kill = (reason: string): void => {
    killedFor ??= reason;
    onEnd();
    killProcess();
  };
  const accept = (line: string): void => {
    const reply = isLargeJson(line) ? readLarge(line) : readReply(JSON.parse(line));
    const waiter = reply && waiters.get(reply.id);
    if (waiter === undefined) world.debug('tool host: ignored a message that belongs to no call in it');
    else {
      if (reply!.type === 'log') world.debug(`${waiter.tool}: ${reply!.message}`);
      waiter.onReply(reply!);
    }
  };
  readLines(channel, MAX_LINE_BYTES, accept, kill);
  ended.then(({ code, signal }) => {
    onEnd();
    const how = killedFor ?? (signal === null ? `it exited with status ${code}` : `it was ended by ${signal}`);
    for (const waiter of waiters.values()) waiter.onLost(hostEnded(waiter.tool, how));
    waiters.clear();
  });

  return {
    ended,
    takeRefused: () => egress?.takeRefused() ?? [],
    kill,
    add(waiter) {
      waiters.set(++ids, waiter);
      return ids;
    },
    remove: (id) => waiters.delete(id),
    send(request) {
      if (!channel.destroyed) channel.write(`${JSON.stringify(request)}\n`);
    },
    async close(graceMs) {
      channel.end();
      await settlesWithin(ended, graceMs);
      killProcess();
    },
  };
}

// A result with large structured output is text only (TOOL-24). Anything else ends its call; the host goes on.
function readLarge(line: string): CheckedReply | undefined {
  const members = findMembers(line, 0);
  const part = (name: string) => {
    const [from, to] = members.get(name) ?? [0, 0];
    return parseOutput(line.slice(from, to));
  };
  const [id, content, error] = [part('id'), part('content'), part('error')];
  if (part('type') === 'result' && content !== undefined) return readReply({ type: 'result', id, content, error });
  const refused = new ToolError('too_large', `the tool sent more than ${MOST_READ_TEXT} at once`, {
    hint: 'return less, or return text; call other tools with less',
  });
  return readReply({ type: 'result', id, content: [], error: refused.toJSON() });
}

// Another tool may have ended the host, so the hint is to try again.
function hostEnded(tool: string, how: string): ToolError {
  return new ToolError('exec_failed', `the tool host ended while it ran ${tool}: ${how}`, {
    hint: 'call it again: a new host is started; if it ends again, the tool itself ends its process',
    data: { retry: true },
  });
}
