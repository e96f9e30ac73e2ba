// Newer versions of pinned servers: finds them, shows how their tools differ, and moves the pin (UPS-125).

import { writeConfig } from '../clients/config-file.js';
import { editServer, wieldFile } from '../clients/wield-file.js';
import { isToolError, ToolError } from '../core/error.js';
import type { JsonObject } from '../core/json.js';
import { sanitize, spellOut } from '../core/text.js';
import { mayStart } from '../core/upstream.js';
import { type LockedServer, readLockedServers } from '../install/lock-file.js';
import type { Failure } from '../install/sources/fetch.js';
import type { NodeToolbox } from '../node.js';
import { readServer } from '../upstream/entries/entry.js';
import type { ToolDifference } from '../upstream/index.js';
import { describePackage, isExact } from '../upstream/pins/package.js';
import { assertUnchanged, changeConfig, findClientEnvironment } from './clients.js';
import { confirm, printDiff } from './consent.js';
import { installServer, lockOf, lockServer, type PinnedServer, packageOf, pinServer } from './pin-server.js';
import type { VerbCall } from './verb.js';
import { findState } from './verbs/mcp/server.js';

type NewerServer = Awaited<ReturnType<typeof findNewerServers>>['newer'][number];

// Returns the pinned servers in files that wield writes, and what was asked for, besides an exact version.
function listPinned(toolbox: NodeToolbox) {
  const environment = findClientEnvironment(toolbox);
  return toolbox.state.upstreams.states().flatMap(({ server }) => {
    const scope = (['user', 'project'] as const).find((one) => server.position.file === wieldFile(one, environment));
    if (scope === undefined || server.kind !== 'stdio' || server.integrity === undefined) return [];
    const asked = readLockedServers(lockOf(scope, toolbox)).find(({ name }) => name === server.name)?.wanted ?? null;
    return [{ server, scope, asked }];
  });
}

/** Compares the entries of servers with the pins in the locks (UPS-126). */
export function findUnlocked(toolbox: NodeToolbox) {
  const environment = findClientEnvironment(toolbox);
  return (['user', 'project'] as const).flatMap((scope) =>
    readLockedServers(lockOf(scope, toolbox)).flatMap((locked) => {
      const source = wieldFile(scope, environment);
      const entry = editServer(scope, environment, locked.name, undefined).current;
      if (isLocked(entry, locked)) return [];
      const state = entry === undefined ? 'in the lock, but not configured' : 'the lock has another pin';
      return [{ kind: 'server', effective: locked.name, source, states: [state], files: [] }];
    }),
  );
}

function isLocked(entry: unknown, { name, package: pinned, version, integrity }: LockedServer): boolean {
  const position = { file: '', pointer: null, line: null };
  const server = readServer(name, entry, { owner: 'user', position }).entry;
  const found = server && packageOf(server);
  if (server?.kind !== 'stdio' || found === undefined) return false;
  return describePackage(found) === pinned && found.wanted === version && server.integrity === integrity;
}

/** Returns which of some names are pinned servers. */
export function chooseServers(call: VerbCall, names: readonly string[]): string[] {
  const pinned = listPinned(call.toolbox()).map(({ server }) => server.name);
  return names.filter((name) => pinned.includes(name));
}

/**
 * Asks the registries. A server that was added with an exact version is left out, unless it is named. Those have failed
 * whose registry could not be asked, or has other bytes for the pinned version.
 */
export async function findNewerServers(call: VerbCall, names: readonly string[] = []) {
  const toolbox = call.toolbox();
  const pinned = listPinned(toolbox);
  const newer: ((typeof pinned)[number] & { pin: PinnedServer; entry: JsonObject; before: string })[] = [];
  const failed: Failure[] = [];
  for (const one of pinned) {
    const { server, scope, asked } = one;
    const { name, integrity } = server;
    const wanted = packageOf(server);
    const isFixed = wanted !== undefined && asked !== null && isExact({ ...wanted, wanted: asked });
    if (wanted === undefined || (names.length > 0 ? !names.includes(name) : isFixed)) continue;
    const entry = editServer(scope, findClientEnvironment(toolbox), name, undefined).current as JsonObject;
    const before = wanted.wanted!;
    try {
      const pin = await pinServer(call, server, entry, {
        ...wanted,
        wanted: isFixed ? undefined : (asked ?? undefined),
      });
      if (pin === undefined) continue;
      const { resolved } = pin;
      if (resolved.version !== before) newer.push({ ...one, pin, entry, before });
      else if (wanted.ecosystem === 'npm' && resolved.integrity !== integrity) {
        const what = `${describePackage(pin.wanted, resolved.version)} of the server ${name}`;
        throw new ToolError('integrity', `the registry has other bytes for ${what} than it was pinned to`, {
          hint: 'find out why; the pin stays',
        });
      }
    } catch (error) {
      if (!isToolError(error)) throw error;
      failed.push({ name, error });
    }
  }
  return { newer, failed };
}

/** Moves pins, each after its tools were shown and confirmed. A dry run starts nothing. */
export async function upgradeServers(call: VerbCall, names: readonly string[]) {
  const { newer, failed } = await findNewerServers(call, names);
  const servers: Awaited<ReturnType<typeof upgradeServer>>[] = [];
  const failures = [...failed];
  for (const one of newer) {
    try {
      servers.push(await upgradeServer(call, one));
    } catch (error) {
      if (!isToolError(error) || error.code === 'needs_approval') throw error;
      failures.push({ name: one.server.name, error });
    }
  }
  printFailed(call, failures);
  return { servers, failed: failures };
}

// `tools` says how its tools differ; null if it was not started.
async function upgradeServer(call: VerbCall, one: NewerServer) {
  const { terminal, json, dryRun } = call;
  const { server, pin, before } = one;
  const { version, integrity } = pin.resolved;
  const { name } = server;
  const facts = { name, package: describePackage(pin.wanted), before, version, integrity };
  const left = (tools: readonly ToolDifference[] | null) => ({ ...facts, tools, upgraded: false });
  if (!json)
    terminal.out(`  ${terminal.paint('bold', spellOut(name))}  ${sanitize(facts.package)}  ${before} → ${version}\n`);
  if (dryRun) return left(null);
  if (!mayStart(server, call.toolbox().workspace))
    throw new ToolError('denied', `the server ${name} may not be started, so its tools cannot be compared`, {
      hint: 'trust the workspace first: wield trust',
    });
  if (!(await confirm(call, 'Start the new version to compare its tools?', spellOut(name)))) return left(null);
  await installServer(call, server, pin);
  const tools = await compareTools(call, one);
  if (!json) printTools(call, tools);
  if (!(await confirm(call, 'Move the pin?', spellOut(name)))) return left(tools);
  await movePin(call, one);
  if (!json) terminal.out(`  upgraded  ${spellOut(name)}\n`);
  return { ...facts, tools, upgraded: true };
}

async function compareTools(call: VerbCall, { server, pin }: NewerServer): Promise<readonly ToolDifference[]> {
  const { upstreams } = call.toolbox().state;
  const { entry } = readServer(server.name, pin.entry, { owner: server.owner, position: server.position });
  await upstreams.refresh(entry!);
  return upstreams.compare(server, entry!);
}

function printTools({ terminal }: VerbCall, tools: readonly ToolDifference[]): void {
  if (tools.length === 0) terminal.out('    the same tools\n');
  for (const { name, change, diff } of tools) {
    terminal.out(`    ${spellOut(name)}  ${change}\n`);
    printDiff(
      terminal,
      diff.map((line) => spellOut(line)),
      6,
    );
  }
}

// What was shown and confirmed is approved.
async function movePin(call: VerbCall, { server, scope, pin, entry, asked }: NewerServer): Promise<void> {
  const toolbox = call.toolbox();
  const environment = findClientEnvironment(toolbox);
  const { name } = server;
  const { file } = server.position;
  await changeConfig(call, file, () => {
    const now = editServer(scope, environment, name, pin.entry);
    assertUnchanged(entry, now.current, file);
    writeConfig(now.file, now.after, scope === 'user');
  });
  await lockServer(call, name, scope, { ...pin, asked });
  const { upstreams } = toolbox.state;
  const changed = upstreams.changes(findState(toolbox, name));
  if (changed.length > 0) await upstreams.approve(changed.map(({ tool }) => tool));
}

/** Prints the servers whose registry could not be asked, or the sources that could not be fetched. */
export function printFailed({ terminal, json }: VerbCall, failed: readonly Failure[]): void {
  for (const { name, error } of json ? [] : failed) {
    terminal.err(`  ${terminal.paint('red', 'failed', 'err')}   ${spellOut(name)}: ${sanitize(error.message)}\n`);
    if (error.hint !== undefined) terminal.err(`           ${sanitize(error.hint)}\n`);
  }
}

export function toFailedJson(failed: readonly Failure[]) {
  return failed.map(({ name, error }) => ({ name, error: error.toJSON() }));
}
