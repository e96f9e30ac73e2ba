// `wield check --installed`: checks installed files and pinned servers against their records and the lock.

import { ToolError } from '../../core/error.js';
import { count, quoteOutside, spellOut } from '../../core/text.js';
import { adviseOn, type Difference, findDifferences } from '../../install/compare.js';
import { findLock } from '../../install/lock-file.js';
import { loadInstalled } from '../../install/state.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import { printError, printJson } from '../print.js';
import { findUnlocked } from '../upgrade-servers.js';
import type { Verb } from '../verb.js';

const INTEGRITY = 7;
const SERVERS_HINT = 'wield mcp add NAME --force -- COMMAND pins a server again';

export const verify: Verb = {
  usage: 'check --installed [--json]',
  summary:
    'Check installed files and pinned servers against their records and wield.lock. Exits with 7 if one differs.',
  examples: ['wield check --installed'],
  async run({ terminal, json, toolbox: open }) {
    const toolbox = open();
    const environment = toReadOnlyEnvironment(toolbox);
    const { items } = loadInstalled(environment.paths);
    const lockFile = findLock(toolbox.workspace.workdir, environment.lockFile);
    const servers = findUnlocked(toolbox);
    const found = findDifferences(environment, lockFile);
    const differences = [...found, ...servers];
    if (differences.length === 0) {
      if (json) printJson(terminal, { ok: true, items: items.length, differences });
      else terminal.out(`  ${count(items.length, 'item')} unchanged\n`);
      return 0;
    }
    const names = differences.map((one) => `${one.kind} ${one.effective}: ${one.states.join(', ')}${filesOf(one)}`);
    const error = new ToolError('integrity', `changed since installation: ${names.join('; ')}`, {
      hint: [...(found.length > 0 ? [adviseOn(found)] : []), ...(servers.length > 0 ? [SERVERS_HINT] : [])].join('; '),
      data: { differences: differences.map((one) => ({ ...one })) },
    });
    if (json) printJson(terminal, { ok: false, error: error.toJSON() });
    else printError(terminal, error.toJSON());
    return INTEGRITY;
  },
};

const SHOWN = 5;

function filesOf({ files }: Pick<Difference, 'files'>): string {
  if (files.length === 0) return '';
  // Names may differ in characters that are not visible.
  const shown = files.slice(0, SHOWN).map((file) => quoteOutside(spellOut(file), 120));
  return ` (${shown.join(', ')}${files.length > SHOWN ? ` and ${files.length - SHOWN} more` : ''})`;
}
