// What the command line and programs share of installing: what it needs of a toolbox, and what an install approves.

import { assertPerson } from './core/caller.js';
import type { AppliedItem } from './install/apply.js';
import { agentHomes, type InstallContext } from './install/context.js';
import type { NodeToolbox } from './node.js';

/** What installing needs of a toolbox and of whoever does it; a process that a tool started may not install (A44). */
export function toInstallContext(
  { insideCall, world, wieldHome, configuration }: NodeToolbox,
  own: Pick<InstallContext, 'version' | 'signal' | 'report' | 'approveHooks'>,
): InstallContext {
  assertPerson(insideCall, 'installing');
  const { limits, homes } = configuration().settings;
  return { world, wieldHome, homes: agentHomes(homes, world.home), limits, ...own };
}

/** Remembers installed tools as they are: installing is a person's approval of them (POL-21). */
export async function pinTools(
  toolbox: NodeToolbox,
  items: readonly { readonly kind: string; readonly effective: string; readonly bin: string | null }[],
): Promise<void> {
  for (const { kind, effective, bin } of items) {
    if (kind !== 'tool' || bin === null) continue;
    const tool = await toolbox.find(effective).catch(() => undefined);
    if (tool?.origin.owner === 'package') toolbox.pinStore.pin([tool], new Date(toolbox.world.now()));
  }
}

/** An item that was just installed, under the name that it has here. */
export function toItem({ planned: { item, effective } }: AppliedItem) {
  return { ...item, effective };
}
