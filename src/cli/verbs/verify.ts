// `wield verify`: checks installed files against their recorded hashes.

import { ToolError } from '../../core/error.js';
import { count } from '../../core/text.js';
import { pathsOf } from '../../install/environment.js';
import { loadInstalled } from '../../install/state.js';
import { checkFiles } from '../../install/status.js';
import { printError, printJson } from '../print.js';
import type { Verb } from '../verb.js';

const DIFFERENCES = ['missing', 'locally modified', 'broken link'];
const INTEGRITY = 7;

export const verify: Verb = {
  name: 'verify',
  usage: 'verify [--json]',
  summary: 'Check installed files against their recorded hashes. Exits with 7 if one differs.',
  examples: ['wield verify'],
  flags: {},
  positionals: 0,
  async run({ terminal, json, toolbox }) {
    const paths = pathsOf(toolbox().machine.wieldHome);
    const { items } = loadInstalled(paths);
    const differences = items.flatMap((item) => {
      const states = checkFiles(item, paths).filter((state) => DIFFERENCES.includes(state));
      const { kind, effective, source, store, installedHash } = item;
      return states.length === 0 ? [] : [{ kind, effective, source, store, installedHash, states }];
    });
    if (differences.length === 0) {
      if (json) printJson(terminal, { ok: true, items: items.length, differences });
      else terminal.out(`  ${count(items.length, 'item')} unchanged\n`);
      return 0;
    }
    const names = differences.map(({ kind, effective, states }) => `${kind} ${effective}: ${states.join(', ')}`);
    const error = new ToolError('integrity', `changed since installation: ${names.join('; ')}`, {
      hint: 'wield doctor --fix restores links and missing files; wield install NAME --force discards changes, --accept keeps them',
      data: { differences },
    });
    if (json) printJson(terminal, { ok: false, error: error.toJSON() });
    else printError(terminal, error.toJSON());
    return INTEGRITY;
  },
};
