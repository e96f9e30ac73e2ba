// `wield mcp add` of a registry entry that is a bundle: checks its hash and installs it (UPS-92).

import { quoteOutside } from '../../../core/text.js';
import { applyPlan } from '../../../install/apply/apply.js';
import { loadInventory } from '../../../install/inventory.js';
import { toAppliedJson, toSourceJson } from '../../../install/json.js';
import { planAvailable } from '../../../install/plan/plans.js';
import { addSource } from '../../../install/sources/add.js';
import { listItems } from '../../../install/sources/load.js';
import type { RegistryServer } from '../../../upstream/registry/entry.js';
import { printApplied, printRefused, statusOf, withInstalling } from '../../installing.js';
import { printJson } from '../../print.js';
import { usageError, type VerbCall } from '../../verb.js';

const UNUSED = ['name', 'env', 'header', 'scope'];

/** Returns the exit status. The server is untrusted until a person accepts it, like that of a plugin (INS-62). */
export async function addBundle(
  call: VerbCall,
  { url, sha256 }: NonNullable<RegistryServer['bundle']>,
): Promise<number> {
  const { flags, terminal, json, cwd } = call;
  const unused = UNUSED.find((name) => flags.has(name));
  if (unused !== undefined)
    throw usageError(
      `the server is a bundle, which is installed without --${unused}`,
      'wield mcp accept asks for values',
    );
  if (flags.has('dry-run')) {
    if (json) printJson(terminal, { ok: true, bundle: url, sha256, written: false });
    else terminal.out(`  would install  ${quoteOutside(url, 300)}\n  sha256         ${sha256}\n`);
    return 0;
  }
  return withInstalling(call, async (environment) => {
    const pin = { to: 'commit', name: sha256 } as const;
    const { added } = await addSource({ source: url, cwd, roots: [], pin }, environment);
    const inventory = loadInventory(environment);
    const ids = added.map(({ record }) => record.id);
    const plan = planAvailable(listItems(inventory.sources.filter(({ record }) => ids.includes(record.id))), inventory);
    const applied = await applyPlan(plan, flags.has('force'), inventory);
    if (json)
      printJson(terminal, {
        ok: true,
        source: toSourceJson(added[0]!),
        installed: applied.map(toAppliedJson),
        written: applied.length > 0,
      });
    else {
      printApplied(terminal, applied, inventory);
      printRefused(terminal, plan);
    }
    return statusOf(plan);
  });
}
