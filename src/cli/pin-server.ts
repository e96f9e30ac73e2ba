// Pins the package of a server: its exact version and integrity, in its entry and in `wield.lock` (UPS-123).

import { join } from 'node:path';
import type { Scope } from '../clients/client.js';
import type { JsonObject } from '../core/json.js';
import { spellOut } from '../core/text.js';
import type { ServerEntry } from '../core/upstream.js';
import { withInstallLock } from '../install/lock.js';
import { changeLockedServers, LOCK_NAME, type LockedServer, readLockedServers } from '../install/lock-file.js';
import type { NodeToolbox } from '../node.js';
import { expandWithSecrets } from '../upstream/entries/expand.js';
import { runnerOf } from '../upstream/entries/package-runner.js';
import { assertHarmless, assertHarmlessCommand } from '../upstream/pins/advisories.js';
import { describePackage, findPackage, isExact, type RunPackage } from '../upstream/pins/package.js';
import { resolvePackage } from '../upstream/pins/resolve.js';
import { type InstallOptions, installPin } from '../upstream/pins/start.js';
import { readInstalled } from './installing.js';
import { printWarning } from './print.js';
import { showTransient } from './status-line.js';
import type { VerbCall } from './verb.js';

/** With the exact version and the integrity in its entry. */
export type PinnedServer = NonNullable<Awaited<ReturnType<typeof pinServer>>>;

/** A pin as the lock has it. */
export interface LockedPin extends PinnedServer {
  /** The version that was asked for; null without one. */
  readonly asked: string | null;
}

/** Returns the package of a server that can be pinned. */
export function packageOf(server: ServerEntry): RunPackage | undefined {
  return server.kind === 'stdio' ? findPackage(server.command, server.args) : undefined;
}

/**
 * Resolves the package of a server. Throws `unavailable` if that is not possible, and `denied` if an advisory affects it.
 * `wanted` is another version than that of the entry.
 */
export async function pinServer(call: VerbCall, server: ServerEntry, entry: JsonObject, wanted = packageOf(server)) {
  if (server.kind !== 'stdio') return undefined;
  const options = await toOptions(call, server);
  if (wanted === undefined) {
    assertHarmlessCommand(server, options.advisories);
    return undefined;
  }
  if (!call.json) showTransient(call.terminal, `resolving ${describePackage(wanted, wanted.wanted)}`);
  const resolved = await resolvePackage(wanted, options);
  const { version, integrity } = resolved;
  assertHarmless([{ ...wanted, wanted: version }], options.advisories, server.name);
  const pinned = { ...wanted, wanted: version };
  return { entry: { ...entry, args: [...wanted.withVersion(version)], integrity }, wanted: pinned, resolved };
}

/** Installs a pinned package, so that its first start is quick. */
export async function installServer(
  call: VerbCall,
  server: ServerEntry,
  { wanted, resolved }: PinnedServer,
): Promise<void> {
  if (server.kind !== 'stdio' || wanted.ecosystem === 'docker') return;
  if (!call.json) showTransient(call.terminal, `installing ${describePackage(wanted, resolved.version)}`);
  await installPin(wanted, resolved, await toOptions(call, server));
}

async function toOptions(call: VerbCall, server: Extract<ServerEntry, { kind: 'stdio' }>): Promise<InstallOptions> {
  const { machine, workspace, state } = call.toolbox();
  const { world, wieldHome } = machine;
  const { workdir } = workspace;
  // References that cannot be resolved are those of the server: installers need none of them.
  const resolved = await expandWithSecrets(server, { world, workdir }).catch(() => undefined);
  const variables = resolved?.server.kind === 'stdio' ? resolved.server.env : {};
  const advisories = { path: state.configuration().settings.advisories, home: world.home };
  return { server: server.name, variables, cwd: workdir, world, signal: call.signal, wieldHome, advisories };
}

/** Throws if the lock of the servers of a file cannot be read: nothing is written to either then (STA-8). */
export function checkLock(call: VerbCall, scope: Scope): void {
  readLockedServers(lockOf(scope, call.toolbox()));
}

/** Writes the pin of a server to the lock; removes it without one. */
export async function lockServer(call: VerbCall, name: string, scope: Scope, pin?: LockedPin): Promise<void> {
  const file = lockOf(scope, call.toolbox());
  if (pin === undefined && !readLockedServers(file).some((one) => one.name === name)) return;
  const { version = '', integrity = '' } = pin?.resolved ?? {};
  const locked: LockedServer[] =
    pin === undefined ? [] : [{ name, package: describePackage(pin.wanted), wanted: pin.asked, version, integrity }];
  await withInstallLock(await readInstalled(call), async () =>
    changeLockedServers(file, (servers) => [...servers.filter((one) => one.name !== name), ...locked]),
  );
}

/** Returns the lock of the servers that a file of wield has. */
export function lockOf(scope: Scope, { machine, workspace }: NodeToolbox): string {
  return join(scope === 'user' ? machine.wieldHome : workspace.workdir, LOCK_NAME);
}

/** Warns about a package without an exact version, and about one that cannot be pinned (UPS-123). */
export function warnAboutVersion({ terminal }: VerbCall, server: ServerEntry, pin: PinnedServer | undefined): void {
  const wanted = packageOf(server);
  const warn = (text: string): void => printWarning(terminal, spellOut(text));
  if (wanted === undefined) {
    const runner = runnerOf(server);
    if (runner !== undefined) warn(`not pinned: what ${runner} runs here can change at every start`);
    return;
  }
  const what = describePackage(wanted, wanted.wanted);
  if (isExact(wanted)) {
    if (pin === undefined) warn(`${what} is not pinned: its integrity is not verified`);
    return;
  }
  const why = wanted.wanted === undefined ? 'has no version' : 'is not an exact version';
  warn(
    `${what} ${why}${pin === undefined ? ': every start may run another one' : `: pinned to ${pin.resolved.version}`}`,
  );
}

export function toPinJson({ wanted, resolved: { version, integrity } }: PinnedServer) {
  return { package: describePackage(wanted), version, integrity };
}
