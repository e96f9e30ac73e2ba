// `wield upgrade --fetch-only`: fetches updates of sources without changing installed items.

import { sanitize } from '../../core/text.js';
import { addNested } from '../../install/sources/add.js';
import { syncSource } from '../../install/sources/fetch.js';
import { findSource } from '../../install/sources/load.js';
import { loadSources } from '../../install/state.js';
import { toReadOnlyEnvironment } from '../../install/toolbox-environment.js';
import { RUN_HOOKS } from '../consent.js';
import { summarizeItems, withInstalling } from '../installing.js';
import { printJson } from '../print.js';
import { toggle, type Verb } from '../verb.js';

export const sync: Verb = {
  name: 'upgrade --fetch-only',
  usage: 'upgrade --fetch-only [source…] [--accept]',
  summary: 'Fetch updates of sources. Installed items are not changed; wield upgrade does that.',
  examples: ['wield upgrade --fetch-only', 'wield upgrade --fetch-only acme/agent-tools'],
  flags: { accept: toggle('Accept a tag that moved'), 'run-hooks': RUN_HOOKS },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { flags, positionals, terminal, json, cwd } = call;
    const known = loadSources(toReadOnlyEnvironment(call.toolbox()).paths);
    for (const name of positionals) findSource(name, known, cwd);
    return withInstalling(call, async (environment) => {
      const all = loadSources(environment.paths);
      const chosen = positionals.length === 0 ? all : positionals.map((name) => findSource(name, all, cwd));
      const synced = [];
      for (const record of chosen) synced.push(await syncSource(record, flags.has('accept'), environment));
      // Sources that were listed since are registered; nothing of them is installed.
      const nested = [];
      for (const one of synced) nested.push(...(await addNested(one, environment)).added.filter(({ known }) => !known));
      if (json) {
        const sources = synced.map(({ record: { id, commit, ref, hooks }, before, scan }) => ({
          id,
          before,
          commit,
          ref,
          hooks,
          items: scan.items.length,
          warnings: scan.warnings,
        }));
        printJson(terminal, { ok: true, sources, added: nested.map(({ record }) => record.id) });
      } else if (synced.length === 0) terminal.out('  no sources; add one: wield add owner/repo\n');
      for (const { record, before, scan } of json ? [] : synced) {
        const { id, commit } = record;
        const moved =
          commit === before
            ? (commit?.slice(0, 12) ?? 'used in place')
            : `${before?.slice(0, 12)} → ${commit?.slice(0, 12)}`;
        terminal.out(`  ${sanitize(id)}  ${moved}  offers ${summarizeItems(scan.items)}\n`);
      }
      for (const { record, scan } of json ? [] : nested)
        terminal.out(`  ${sanitize(record.id)}  added  offers ${summarizeItems(scan.items)}\n`);
      return 0;
    });
  },
};
