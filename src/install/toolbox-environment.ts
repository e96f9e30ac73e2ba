// The environment of an installation, from a toolbox.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assertPerson } from '../core/caller.js';
import { assertConfiguration } from '../core/rule.js';
import type { Settings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { Network } from '../net/network.js';
import type { ProcessHelper } from '../process/helper.js';
import { agentHomes, type InstallEnvironment, type PinnedItem, pathsOf, REFUSE_ALL } from './environment.js';
import { LOCK_NAME } from './lock-file.js';

/** The parts of a node toolbox that installing reads. */
export interface ReadableToolbox {
  readonly machine: {
    readonly wieldHome: string;
    readonly world: World;
    readonly helper: Pick<ProcessHelper, 'start'>;
  };
  readonly state: {
    configuration(): { readonly settings: Settings; readonly fault: string | undefined };
    readonly network: Network;
  };
  readonly workspace?: { readonly workdir: string };
}

/** The parts of a node toolbox that installing uses. */
export interface InstallingToolbox extends ReadableToolbox {
  readonly machine: ReadableToolbox['machine'] & { readonly insideCall: boolean };
  readonly state: ReadableToolbox['state'] & {
    readonly pins: { pin(tools: readonly Tool[], now: Date): void; checkInstalled(sources: readonly string[]): void };
  };
  find(ref: string): Promise<Tool>;
}

type OwnFields = Pick<InstallEnvironment, 'version' | 'signal' | 'report' | 'approveHooks' | 'acceptSigner'>;

/**
 * Throws `denied` in a process that a tool started: only a person may install (A44). So it does if the configuration is
 * invalid: its lists of sources and signers may be missing (POL-9).
 */
export function toInstallEnvironment(toolbox: InstallingToolbox, own: OwnFields): InstallEnvironment {
  assertPerson(toolbox.machine.insideCall, 'installing');
  assertConfiguration(toolbox.state.configuration());
  return toReadOnlyEnvironment(toolbox, { ...own, ...pinsOf(toolbox) });
}

/** Returns an environment for finishing or undoing an interrupted change; hooks are never approved. */
export function toRecoveryEnvironment(toolbox: InstallingToolbox, signal: AbortSignal): InstallEnvironment {
  return toReadOnlyEnvironment(toolbox, { signal, ...pinsOf(toolbox) });
}

/** Returns an environment for reading the installed state; hooks are never approved. */
export function toReadOnlyEnvironment(
  { machine: { world, wieldHome, helper }, state, workspace }: ReadableToolbox,
  own: Partial<OwnFields & Pins> = {},
): InstallEnvironment {
  const { limits, homes, sandbox, allowedSources, sourceSigners } = state.configuration().settings;
  const isProject = workspace !== undefined && existsSync(join(workspace.workdir, 'wield.toml'));
  const lockFile = join(isProject ? workspace.workdir : wieldHome, LOCK_NAME);
  return {
    lockFile,
    world,
    network: state.network,
    helper,
    paths: pathsOf(wieldHome),
    homes: agentHomes(homes, world),
    limits,
    allowedSources,
    sourceSigners,
    sandbox,
    version: '',
    signal: new AbortController().signal,
    report() {},
    ...REFUSE_ALL,
    checkPins() {},
    async pinTools() {},
    ...own,
  };
}

type Pins = Pick<InstallEnvironment, 'checkPins' | 'pinTools'>;

function pinsOf(toolbox: InstallingToolbox): Pins {
  return {
    checkPins: (sources) => toolbox.state.pins.checkInstalled(sources),
    pinTools: (items) => pinTools(toolbox, items),
  };
}

async function pinTools(toolbox: InstallingToolbox, items: readonly PinnedItem[]): Promise<void> {
  for (const { kind, effective, bin } of items) {
    if (kind !== 'tool' || bin === null) continue;
    const tool = await toolbox.find(effective).catch(() => undefined);
    if (tool?.origin.owner === 'package') await toolbox.state.pins.pin([tool], new Date(toolbox.machine.world.now()));
  }
}
