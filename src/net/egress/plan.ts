// Opens the network of a planned sandbox with a list of hosts; as data, for a process that another one starts.

import type { SandboxPlan } from '../../core/sandbox.js';
import type { Egress } from '../../process/sandbox/egress.js';
import { explainHosts, type RefusedHost, type RefusingSandbox } from '../../process/sandbox/refusal.js';
import { DIRECT, type FindRoute } from '../route.js';

/** What an egress is made of. */
export type EgressPlan = RefusingSandbox;

/** An egress, and what it refused. */
export interface SandboxEgress extends Egress {
  /** Returns the connections that were refused since it was last asked. */
  takeRefused(): readonly RefusedHost[];
}

// Further ones are refused too, and not kept.
const MAX_REFUSED = 20;

/** Returns what the egress of a process needs; undefined if it has the whole network or none. */
export function planEgress(name: string, sandbox: SandboxPlan | undefined): EgressPlan | undefined {
  if (sandbox?.starter === undefined) return undefined;
  const { network, profile, tables, byProject } = sandbox;
  return { name, sandbox: { network, profile, tables, byProject } };
}

/** Opens the egress of a planned process, if it needs one. */
export async function openEgress(
  plan: EgressPlan | undefined,
  findRoute: FindRoute = async () => DIRECT,
  report: (refused: RefusedHost) => void = () => {},
): Promise<SandboxEgress | undefined> {
  if (plan === undefined) return undefined;
  const { createEgress } = await import('./index.js');
  const { network } = plan.sandbox;
  let refused = new Map<string, RefusedHost>();
  const egress = createEgress({
    hosts: typeof network === 'boolean' ? [] : network,
    explain: (host) => explainHosts([{ message: '', allow: host }], plan),
    onRefused(one) {
      if (refused.has(one.message) || refused.size === MAX_REFUSED) return;
      refused.set(one.message, one);
      report(one);
    },
    findRoute,
  });
  return {
    ...egress,
    takeRefused() {
      const taken = [...refused.values()];
      refused = new Map();
      return taken;
    },
  };
}
