// Derives what installing needs from a toolbox, and pins installed tools.

import { assertPerson } from '../core/caller.js';
import type { Settings } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import type { World } from '../core/world.js';
import type { AppliedItem } from './apply/apply.js';
import { agentHomes, type InstallContext } from './environment.js';

/** The parts of a node toolbox that installing uses. */
export interface InstallingToolbox {
  readonly machine: { readonly wieldHome: string; readonly world: World; readonly insideCall: boolean };
  readonly state: {
    readonly pins: { pin(tools: readonly Tool[], now: Date): void };
    configuration(): { readonly settings: Settings };
  };
  find(ref: string): Promise<Tool>;
}

/** Returns the install context of a toolbox. A process started by a tool may not install (A44). */
export function toInstallContext(
  { machine: { insideCall, world, wieldHome }, state: { configuration } }: InstallingToolbox,
  own: Pick<InstallContext, 'version' | 'signal' | 'report' | 'approveHooks'>,
): InstallContext {
  assertPerson(insideCall, 'installing');
  const { limits, homes } = configuration().settings;
  return { world, wieldHome, homes: agentHomes(homes, world.home), limits, ...own };
}

/** Pins installed tools: installing is a person's approval of them (POL-21). */
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

/** Returns an applied item under its installed name. */
export function toItem({ planned: { item, effective } }: AppliedItem) {
  return { ...item, effective };
}
