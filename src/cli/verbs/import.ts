// `wield add --import mind`: takes over the sources, items and links of mind.

import { join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { count, sanitize } from '../../core/text.js';
import { loadInventory } from '../../install/inventory.js';
import { toAppliedJson } from '../../install/json.js';
import { importMind } from '../../install/mind/import.js';
import { type MindState, readMindState } from '../../install/mind/state.js';
import { consent, DRY_RUN, RUN_HOOKS, YES } from '../consent.js';
import { writeHomes } from '../homes.js';
import { printApplied, withInstalling } from '../installing.js';
import { printJson } from '../print.js';
import { option, usageError, type Verb, type VerbCall } from '../verb.js';

export const importSystem: Verb = {
  name: 'add --import',
  usage: 'add --import mind [--from DIR] [--dry-run] [--yes]',
  summary: 'Take over the sources, items and links of mind. Its own directory is not changed.',
  examples: ['wield add --import mind --dry-run', 'wield add --import mind --yes'],
  flags: {
    from: option('DIR', 'The directory of mind; MIND_HOME or ~/.mind by default'),
    'dry-run': DRY_RUN,
    'run-hooks': RUN_HOOKS,
    yes: YES,
  },
  positionals: 1,
  completes: ['mind'],
  async run(call) {
    const { flags, positionals, terminal, json } = call;
    if (positionals[0] !== 'mind') throw usageError('--import needs the name of a system', 'wield add --import mind');
    const state = readMindState(findMindHome(call));
    const dryRun = flags.has('dry-run');
    const what = `${count(state.sources.length, 'source')} and ${count(state.items.length, 'item')} of ${state.home}`;
    if (dryRun) {
      const sources = state.sources.map(({ name }) => name);
      const items = state.items.map(({ kind, name }) => `${kind} ${name}`);
      if (json) return printJson(terminal, { ok: true, dryRun, from: state.home, sources, items, left: [], homes: [] });
      for (const name of [...sources.map((source) => `source ${source}`), ...items])
        terminal.out(`  would take over  ${sanitize(name)}\n`);
      return 0;
    }
    if (!(await consent(call, `Take over ${what}?`, 'the installation'))) return 0;
    const homes = takeLobes(call, state);
    return withInstalling(call, async (environment) => {
      const { sources, applied, left } = await importMind(state, environment);
      if (json) {
        const items = applied.map(toAppliedJson);
        printJson(terminal, { ok: true, dryRun, from: state.home, sources: [...sources.values()], items, left, homes });
        return 0;
      }
      for (const id of sources.values()) terminal.out(`  added      ${sanitize(id)}\n`);
      printApplied(terminal, applied, loadInventory(environment));
      for (const one of left)
        terminal.err(
          `  ${terminal.paint('yellow', 'left', 'err')}       ${sanitize(one.what)}: ${sanitize(one.why)}\n`,
        );
      terminal.out(`  ${sanitize(state.home)} is unchanged; remove it once you do not need mind any more\n`);
      return 0;
    });
  },
};

function findMindHome({ flags, env, cwd, toolbox }: VerbCall): string {
  const given = flags.get('from')?.toString();
  if (given !== undefined) return resolve(cwd, given);
  const { home } = toolbox().machine.world;
  if (env.MIND_HOME !== undefined) return resolve(env.MIND_HOME);
  if (home !== undefined) return join(home, '.mind');
  throw new ToolError('unavailable', 'no home directory', { hint: 'pass the directory of mind: --from DIR' });
}

// The lobes of mind become the agent homes, unless some are configured.
function takeLobes({ toolbox }: VerbCall, { lobes }: MindState): readonly string[] {
  const box = toolbox();
  const isDefault = lobes.length === 0 || (lobes.length === 1 && lobes[0] === '~/.claude');
  if (isDefault || box.state.configuration().settings.homes.length > 0) return [];
  writeHomes(box, lobes);
  return lobes;
}
