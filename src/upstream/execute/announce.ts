// What wield announces to a server that its clients support: what a rule allows the server to request (RSC-7).

import type { Caller } from '../../core/caller.js';
import { CLIENT_CAPABILITIES, toClientTool } from '../../core/client-request.js';
import type { Snapshot } from '../../core/snapshot.js';
import type { ServerEntry } from '../../core/upstream.js';
import { findDenial } from '../../policy/decide.js';
import { toRules } from '../../policy/rules.js';
import type { StartSettings } from '../connection/open.js';

const MODEL: Caller = { kind: 'model', door: 'mcp' };

/** Returns the settings that a server is started with. */
export function toStartSettings({ name }: ServerEntry, snapshot: Snapshot): StartSettings {
  const { env, sandbox } = snapshot.settings;
  const announces = CLIENT_CAPABILITIES.filter(
    (capability) => findDenial(toClientTool(capability, name, false), MODEL, toRules(snapshot)) === undefined,
  );
  return { env, sandbox, announces };
}
