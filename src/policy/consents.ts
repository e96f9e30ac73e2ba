// Stored consent: compares tools with their pins, pins approved changes, opens the approvals.

import { join } from 'node:path';
import type { Snapshot } from '../core/snapshot.js';
import type { Tool } from '../core/tool.js';
import type { Caller } from '../core/toolbox.js';
import type { World } from '../core/world.js';
import type { ApprovalStore } from './approvals.js';
import type { Rules } from './decide.js';
import type { PinStore } from './pins.js';

export interface ConsentsOptions {
  readonly wieldHome: string;
  readonly pins: PinStore;
  /** Returns how an installed tool differs from what was installed (INS-23). */
  readonly findAlteration: (tool: Tool) => Rules['altered'];
  /** Pins a tool of an upstream server. */
  readonly acceptRemote: (tool: Tool, snapshot: Snapshot) => void;
  readonly warn: (message: string) => void;
  readonly world: World;
}

export function createConsents(options: ConsentsOptions) {
  const { pins, findAlteration, acceptRemote, warn, world } = options;
  let store: ApprovalStore | undefined;
  return {
    check(tool: Tool, caller: Caller): Pick<Rules, 'changes' | 'altered'> {
      const altered = tool.origin.owner === 'package' ? findAlteration(tool) : undefined;
      if (altered !== undefined) {
        // A person is warned and decides by calling; the pin would ask about the same files again.
        if (caller.kind === 'person') warn(`${tool.name}: ${altered.reason}; ${altered.hint}`);
        return { altered };
      }
      const pin = pins.check(tool);
      return typeof pin === 'string' ? {} : { changes: pin.diff };
    },
    accept(tool: Tool, snapshot: Snapshot): void {
      if (tool.action.kind === 'remote') acceptRemote(tool, snapshot);
      else pins.pin([tool], new Date(world.now()));
    },
    async approvals(): Promise<ApprovalStore> {
      const { createApprovalStore } = await import('./approvals.js');
      store ??= createApprovalStore({ directory: join(options.wieldHome, 'approvals'), now: world.now });
      return store;
    },
  };
}
