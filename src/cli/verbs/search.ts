// `wield search`: searches tools and available items.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CALLERS } from '../../core/caller.js';
import type { FoundItem } from '../../install/inventory.js';
import { printJson } from '../print.js';
import { oneLine, printTable } from '../table.js';
import { describeEmpty, findUnanswered, printUnanswered } from '../unanswered.js';
import { numberOf, option, type Verb } from '../verb.js';

const DEFAULT_LIMIT = 10;

export const search: Verb = {
  usage: 'search [words] [--limit 10] [--json]',
  summary: 'Search tools and items by name and description, best match first. Without words it lists everything.',
  examples: ['wield search publish the site', 'wield search deploy --json'],
  flags: {
    limit: option('NUMBER', 'Maximum number of results', {
      range: [1, Number.MAX_SAFE_INTEGER, 'for example --limit 10'],
    }),
  },
  positionals: Number.POSITIVE_INFINITY,
  async run(call) {
    const { terminal, positionals, json, toolbox } = call;
    const query = positionals.join(' ');
    const everything = query.trim() === '';
    const limit = numberOf(call, 'limit') ?? (everything ? Number.MAX_SAFE_INTEGER : DEFAULT_LIMIT);
    const box = toolbox();
    const { wieldHome } = box.machine;
    const hits = everything
      ? (await box.list()).slice(0, limit)
      : await box.search(query, limit, { caller: CALLERS.user });
    const unanswered = findUnanswered(box);
    const isFile = (name: string): boolean => existsSync(join(wieldHome, name));
    const found = ['sources.json', 'installed.json'].some(isFile)
      ? (await import('../../install/inventory.js')).searchItems(query, limit, box)
      : { offers: [], installed: [] };
    const { offers } = found;
    // Installed tools are among the tools.
    const names = new Set(hits.map(({ name }) => name));
    const installed = found.installed.filter(({ kind, effective }) => kind !== 'tool' || !names.has(effective));
    if (json) {
      printJson(terminal, {
        ok: true,
        query,
        results: hits.map(({ name, description, origin, traits }) => ({
          name,
          description,
          format: origin.format,
          group: traits.group ?? null,
          tags: traits.tags,
        })),
        installed,
        offers,
        unanswered,
      });
    } else if (hits.length + installed.length + offers.length === 0)
      terminal.out(
        !everything
          ? 'No matching tools. wield list shows all.\n'
          : unanswered.length > 0
            ? `${describeEmpty(unanswered)}\n`
            : 'No tools yet. Create one: wield init\n',
      );
    else {
      const rows = hits.map(({ name, origin, description }) => [name, origin.format, oneLine(description)]);
      const toRow = ({ effective, kind, source, description }: FoundItem): string[] => [
        effective,
        kind,
        source,
        oneLine(description ?? ''),
      ];
      const tables: readonly [string[], string[][]][] = [
        [['NAME', 'FORMAT', 'DESCRIPTION'], rows],
        [['INSTALLED', 'KIND', 'SOURCE', 'DESCRIPTION'], installed.map(toRow)],
        [['TO INSTALL', 'KIND', 'SOURCE', 'DESCRIPTION'], offers.map(toRow)],
      ];
      for (const [at, [head, lines]] of tables.filter(([, found]) => found.length > 0).entries()) {
        if (at > 0) terminal.out('\n');
        printTable(terminal, head, lines);
      }
    }
    if (!json) printUnanswered(terminal, unanswered);
    return 0;
  },
};
