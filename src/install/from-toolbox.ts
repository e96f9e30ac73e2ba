// Creates install environments from a toolbox, and pins installed tools.

import { assertPerson } from '../core/caller.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import { agentHomes, type InstallEnvironment, pathsOf } from './environment.js';

/** The parts of a node toolbox that installing reads. */
export interface ReadableToolbox {
  readonly machine: { readonly wieldHome: string; readonly world: World };
  readonly state: { configuration(): { readonly settings: Settings } };
}

/** The parts of a node toolbox that installing uses. */
export interface InstallingToolbox extends ReadableToolbox {
  readonly machine: ReadableToolbox['machine'] & { readonly insideCall: boolean };
  readonly state: ReadableToolbox['state'] & {
    readonly pins: { pin(tools: readonly Tool[], now: Date): void };
  };
  find(ref: string): Promise<Tool>;
}

type OwnFields = Pick<InstallEnvironment, 'version' | 'signal' | 'report' | 'approveHooks'>;

/** Throws `denied` in a process that a tool started: only a person may install (A44). */
export function toInstallEnvironment(toolbox: InstallingToolbox, own: OwnFields): InstallEnvironment {
  assertPerson(toolbox.machine.insideCall, 'installing');
  return { ...readFields(toolbox), ...own };
}

/** Returns an environment for reading the installed state; hooks are never approved. */
export function toReadOnlyEnvironment(
  toolbox: ReadableToolbox,
  own: Partial<OwnFields> = {},
): InstallEnvironment {
  const { signal } = new AbortController();
  return {
    ...readFields(toolbox),
    version: '',
    signal,
    report() {},
    approveHooks: async () => false,
    ...own,
  };
}

function readFields({ machine: { world, wieldHome }, state }: ReadableToolbox) {
  const { limits, homes } = state.configuration().settings;
  return { world, paths: pathsOf(wieldHome), homes: agentHomes(homes, world.home), limits };
}

/** Pins installed tools: installing one is a person's approval of its definition (POL-21). */
export async function pinTools(
  toolbox: InstallingToolbox,
  items: readonly { readonly kind: string; readonly effective: string; readonly bin: string | null }[],
): Promise<void> {
  for (const { kind, effective, bin } of items) {
    if (kind !== 'tool' || bin === null) continue;
    const tool = await toolbox.find(effective).catch(() => undefined);
    if (tool?.origin.owner === 'package')
      toolbox.state.pins.pin([tool], new Date(toolbox.machine.world.now()));
  }
}
