// What wield announces to a server that its clients support: what a rule allows the server to request (RSC-7).

import type { Caller } from '../../core/caller.js';
import { CLIENT_CAPABILITIES, toClientTool } from '../../core/client-request.js';
import type { ClientCapability } from '../../core/context.js';
import type { Policy } from '../../core/rule.js';
import type { Snapshot } from '../../core/snapshot.js';
import type { ServerEntry } from '../../core/upstream.js';
import { findDenial } from '../../policy/decide.js';
import type { StartSettings } from '../connection/open.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };
const NONE: readonly ClientCapability[] = [];

const known = new WeakMap<Policy, Map<string, readonly ClientCapability[]>>();

/** Returns the settings that a server is started with. */
export function toStartSettings(
  { name }: ServerEntry,
  { settings, policy }: Pick<Snapshot, 'settings' | 'policy'>,
): StartSettings {
  const { env, sandbox } = settings;
  return { env, sandbox, announces: policy.rules.length === 0 ? NONE : announcedTo(name, policy) };
}

function announcedTo(server: string, policy: Policy): readonly ClientCapability[] {
  const ofPolicy = known.get(policy) ?? new Map<string, readonly ClientCapability[]>();
  known.set(policy, ofPolicy);
  let announced = ofPolicy.get(server);
  if (announced === undefined) {
    announced = CLIENT_CAPABILITIES.filter(
      (capability) => findDenial(toClientTool(capability, server, false), MODEL, { policy, within: [] }) === undefined,
    );
    ofPolicy.set(server, announced);
  }
  return announced;
}
