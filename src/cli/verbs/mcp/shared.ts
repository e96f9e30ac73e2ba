// `wield mcp restart` and `wield mcp stop`: end processes that sessions share.

import { ToolError } from '../../../core/error.js';
import { spellOut } from '../../../core/text.js';
import type { NodeToolbox } from '../../../node.js';
import type { BrokerOptions } from '../../../upstream/broker/address.js';
import { listShared, stopBrokers, whyNotShared } from '../../../upstream/broker/admin.js';
import { readVersion } from '../../../workspace/machine.js';
import { report } from '../../print.js';
import { toServerJson } from './list.js';
import { findState, findUsable, type McpAction, requireName } from './server.js';

function toOptions({ machine: { wieldHome, world } }: NodeToolbox): BrokerOptions {
  return { wieldHome, world, version: readVersion() };
}

export const restart: McpAction = {
  usage: 'restart NAME',
  example: 'wield mcp restart github',
  flags: {},
  positionals: 1,
  async run(call, [named]) {
    const name = requireName(named, 'restart');
    const toolbox = call.toolbox();
    const { server } = findUsable(toolbox, name);
    const why = whyNotShared(server, toolbox.state.snapshot().settings.broker, toOptions(toolbox));
    if (why !== undefined) {
      throw new ToolError('unavailable', `no process of the server ${spellOut(name)} is shared: ${why}`, {
        hint: `its process ends with the session that started it; to list its tools again: wield mcp refresh ${spellOut(name)}`,
      });
    }
    await toolbox.state.upstreams.refresh(server, 'restart');
    const document = { server: toServerJson(findState(toolbox, name)) };
    return report(call, document, `${spellOut(name)} was restarted for all sessions\n`);
  },
};

export const stop: McpAction = {
  usage: 'stop',
  example: 'wield mcp stop',
  flags: {},
  positionals: 0,
  async run(call) {
    const options = toOptions(call.toolbox());
    const shared = await listShared(options);
    const brokers = await stopBrokers(options);
    // A broker that does not answer is ended without saying how many it had.
    const processes = shared?.length ?? null;
    const ended = `Ended the shared servers${processes === null ? '' : ` (${processes})`}`;
    const text = brokers === 0 ? 'No servers are shared now.\n' : `${ended}; the next call starts what it needs.\n`;
    return report(call, { stopped: { brokers, processes } }, text);
  },
};
