// `wield mcp`: manages upstream MCP servers.

import { quoteOutside } from '../../core/text.js';
import { COMMON_FLAGS, checkValues, type FlagHelp, unknownChoice, usageError, type Verb } from '../verb.js';
import { accept } from './mcp/accept.js';
import { add } from './mcp/add.js';
import { importServers } from './mcp/import.js';
import { list } from './mcp/list.js';
import { login, logout } from './mcp/login.js';
import { refresh, restart, stop } from './mcp/refresh.js';
import { remove } from './mcp/remove.js';
import { type McpAction, STRAY_FLAG } from './mcp/server.js';

const ACTIONS: Readonly<Record<string, McpAction>> = {
  list,
  add,
  remove,
  import: importServers,
  refresh,
  restart,
  stop,
  accept,
  login,
  logout,
};

const actions = Object.values(ACTIONS);

export const mcp: Verb = {
  usage: actions.map(({ usage }) => `mcp ${usage}`).join('\n  wield '),
  summary: 'Manage upstream MCP servers: list, add, remove, import, refresh, restart, accept changes, log in.',
  examples: actions.map(({ example }) => example),
  flags: joinFlags(),
  positionals: Number.POSITIVE_INFINITY,
  strayFlag: STRAY_FLAG,
  completes: Object.keys(ACTIONS),
  async run(call) {
    const [name = 'list', ...rest] = call.positionals;
    const action = Object.hasOwn(ACTIONS, name) ? ACTIONS[name]! : undefined;
    if (action === undefined) throw unknownChoice('action', name, Object.keys(ACTIONS), 'wield mcp');
    const { flags = {}, positionals = 0 } = action;
    const known = { ...COMMON_FLAGS, ...flags };
    const hint = `wield mcp ${action.usage}`;
    for (const flag of call.flags.keys()) {
      if (Object.hasOwn(known, flag)) continue;
      // Flags of a command that does not follow `--`.
      const isStray = rest.length > 1;
      throw usageError(`wield mcp ${name} has no flag --${flag}`, isStray ? STRAY_FLAG : hint);
    }
    checkValues(flags, call);
    if (rest.length > positionals) {
      const odd = quoteOutside(rest[positionals]!, 60);
      throw usageError(`unexpected argument "${odd}"`, hint);
    }
    return action.run(call, rest);
  },
};

// Merges the flags of all actions; different descriptions of a flag are joined. Values are checked by the action.
function joinFlags(): Record<string, FlagHelp> {
  const joined: Record<string, FlagHelp> = {};
  for (const { flags = {} } of actions) {
    for (const [name, flag] of Object.entries(flags)) {
      const known = joined[name];
      if (known === undefined) joined[name] = { ...flag, choices: undefined, range: undefined };
      else if (!known.description.includes(flag.description))
        joined[name] = { ...known, description: `${known.description}. ${flag.description}` };
    }
  }
  return joined;
}
