// Installed tools whose files were modified, for the page.

import { join } from 'node:path';
import { isToolError } from '../core/error.js';
import { hashTree } from '../files/tree.js';
import { compareFiles } from '../install/compare.js';
import { type InstalledItem, loadInstalled } from '../install/state.js';
import { toReadOnlyEnvironment } from '../install/toolbox-environment.js';
import type { NodeToolbox } from '../node.js';
import type { Change } from '../ui/server/parts.js';
import { changedAgain } from '../ui/server/session.js';
import { withInstalling } from './installing.js';
import type { VerbCall } from './verb.js';

/** Accepting one is `wield install --accept`. */
export async function findInstalledChanges(call: VerbCall, toolbox: NodeToolbox): Promise<readonly Change[]> {
  const { paths } = toReadOnlyEnvironment(toolbox);
  const isModified = (item: InstalledItem): boolean =>
    item.kind === 'tool' && compareFiles(item, paths).includes('locally modified');
  const digestOf = ({ object }: InstalledItem): string => hashTree(join(paths.objects, object));
  return Promise.all(
    loadInstalled(paths)
      .items.filter(isModified)
      .map(async (item): Promise<Change> => {
        const digest = digestOf(item);
        const accept = async (): Promise<void> => {
          const { acceptModified } = await import('../install/apply/accept.js');
          await withInstalling(call, async (environment) => {
            if (digestOf(item) !== digest) throw changedAgain();
            await acceptModified([item], environment);
          });
        };
        return { tool: item.effective, from: item.source, diff: await diffOf(toolbox, item.effective), digest, accept };
      }),
  );
}

async function diffOf({ state: { pins }, find }: NodeToolbox, name: string): Promise<readonly string[]> {
  try {
    const pin = pins.check(await find(name));
    if (typeof pin !== 'string') return pin.diff;
  } catch (error) {
    if (!isToolError(error)) throw error;
  }
  return ['files of it that are not its definition were modified'];
}
