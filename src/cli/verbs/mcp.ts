// `wield mcp`: servers of others whose tools are used here, an action each.

import { ToolError } from '../../core/error.js';
import { nearest, quoteOutside } from '../../core/text.js';
import { COMMON_FLAGS, type Verb } from '../verb.js';
import type { McpAction } from './mcp/action.js';
import { importServers } from './mcp/import.js';

const ACTIONS: Readonly<Record<string, McpAction>> = { import: importServers };

const actions = Object.values(ACTIONS);

export const mcp: Verb = {
  name: 'mcp',
  usage: actions.map(({ usage }) => `mcp ${usage}`).join(' | '),
  summary: 'Bring servers of other clients here, so that their tools are used like any other.',
  examples: actions.map(({ example }) => example),
  flags: Object.assign({}, ...actions.map(({ flags }) => flags)),
  positionals: 2,
  completes: Object.keys(ACTIONS),
  async run(call) {
    const [name, ...rest] = call.positionals;
    const action = name !== undefined && Object.hasOwn(ACTIONS, name) ? ACTIONS[name]! : undefined;
    if (action === undefined) throw unknownAction(name);
    const known = { ...COMMON_FLAGS, ...action.flags };
    for (const flag of call.flags.keys()) {
      if (Object.hasOwn(known, flag)) continue;
      throw new ToolError('usage', `--${flag} is not for wield mcp ${name}`, {
        hint: `wield mcp ${action.usage}`,
      });
    }
    return action.run(call, rest);
  },
};

function unknownAction(name: string | undefined): ToolError {
  const all = Object.keys(ACTIONS);
  if (name === undefined)
    return new ToolError('usage', 'wield mcp needs an action', {
      hint: `use ${all.join(', ')}; wield mcp --help`,
    });
  const [close] = nearest(name, all);
  return new ToolError('usage', `there is no wield mcp ${quoteOutside(name, 40)}`, {
    hint: close === undefined ? `use ${all.join(', ')}` : `did you mean wield mcp ${close}?`,
  });
}
