// `wield install --adopt`: moves an item of an agent home into a source, and installs it from there.

import { basename, dirname, join, resolve } from 'node:path';
import { ToolError } from '../../core/error.js';
import { sanitize } from '../../core/text.js';
import { namesIn } from '../../files/list.js';
import { removeTree } from '../../files/remove.js';
import { copyToSource, findUnmanagedItem, type UnmanagedItem } from '../../install/adopt.js';
import { applyPlan } from '../../install/apply/apply.js';
import { isDirectory } from '../../install/directory.js';
import { loadInventory } from '../../install/inventory.js';
import { toAppliedJson } from '../../install/json.js';
import { planInstall } from '../../install/plan/plans.js';
import { addSource } from '../../install/sources/add.js';
import { ASKS, confirm } from '../consent.js';
import { printApplied, withInstalling } from '../installing.js';
import { printJson, report } from '../print.js';
import { option, toggle, usageError, type Verb } from '../verb.js';

export const adopt: Verb = {
  usage: 'install --adopt <[kind:]name> --to DIR [--force] [--dry-run] [--yes]',
  summary: 'Move a skill, agent or rule that is in an agent home into a source, and install it from there.',
  examples: ['wield install --adopt skill:notes --to ~/my-tools'],
  flags: {
    to: option('DIR', 'The directory of the source'),
    force: toggle('Overwrite an item of the same name in the source', 'f'),
    ...ASKS,
  },
  positionals: 1,
  async run(call) {
    const { flags, positionals, terminal, json, cwd, env, dryRun } = call;
    const [ref] = positionals;
    const to = flags.get('to')?.toString() ?? env.MIND_ABSORB_TO;
    if (ref === undefined || to === undefined)
      throw usageError(
        'missing item or directory; usage: wield install --adopt <item> --to DIR',
        'wield install --adopt --help',
      );
    const source = resolve(cwd, to);
    if (!isDirectory(source)) throw new ToolError('not_found', `directory not found: ${source}`, { hint: 'create it' });
    return withInstalling(call, async (environment) => {
      const item = findUnmanagedItem(ref, environment);
      const what = `${item.kind} ${item.name}`;
      const from = item.paths.join(', ');
      if (dryRun) {
        const text = `  would move  ${sanitize(what)} from ${sanitize(from)} to ${sanitize(source)}\n`;
        return report(call, { dryRun: true, from: item.paths, to: source }, text);
      }
      if (!(await confirm(call, `Move the ${what} from ${from} to ${source}?`, what))) return 0;
      const path = copyToSource(item, source, flags.has('force'));
      const { added } = await addSource({ source, cwd, roots: [] }, environment);
      const inventory = loadInventory(environment);
      const refs = [`${item.kind}:${item.name}`];
      const plan = planInstall({ refs, sources: [added[0]!.record.id], all: false }, inventory);
      // Moves the originals aside, and restores them if it fails.
      const applied = await applyPlan(plan, true, inventory);
      for (const original of item.paths) removeAsides(original);
      if (json) return printJson(terminal, { ok: true, path, items: applied.map(toAppliedJson) });
      terminal.out(`  moved      ${sanitize(what)} to ${sanitize(path)}\n`);
      printApplied(terminal, applied, inventory);
      return 0;
    });
  },
};

// Their content is in the source.
function removeAsides(original: UnmanagedItem['paths'][number]): void {
  const directory = dirname(original);
  for (const name of namesIn(directory))
    if (name.startsWith(`.${basename(original)}.before-wield-`)) removeTree(join(directory, name));
}
