// `wield search`: searches tools and available items.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { oneLine, printJson, printTable } from '../print.js';
import { option, usageError, type Verb } from '../verb.js';

const DEFAULT_LIMIT = 10;

export const search: Verb = {
  name: 'search',
  usage: 'search <words> [--limit 10] [--json]',
  summary: 'Search tools by name and description, best match first.',
  examples: ['wield search publish the site', 'wield search deploy --json'],
  flags: { limit: option('NUMBER', 'Maximum number of results') },
  positionals: Number.POSITIVE_INFINITY,
  async run({ terminal, flags, positionals, json, toolbox }) {
    const query = positionals.join(' ');
    if (query.trim() === '') throw usageError('missing search words', 'wield search <words>');
    const limit = Number(flags.get('limit') ?? DEFAULT_LIMIT);
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw usageError('--limit must be a positive integer', 'for example --limit 10');
    }
    const box = toolbox();
    const { wieldHome } = box.machine;
    const hits = await box.search(query, limit, { caller: { kind: 'person', door: 'cli' } });
    const offers = existsSync(join(wieldHome, 'sources.json'))
      ? (await import('../../install/inventory.js')).searchAvailable(query, limit, box)
      : [];
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
        offers,
      });
    } else if (hits.length + offers.length === 0) terminal.out('No matching tools. wield list shows all.\n');
    else {
      const rows = hits.map(({ name, origin, description }) => [name, origin.format, oneLine(description)]);
      if (rows.length > 0) printTable(terminal, ['NAME', 'FORMAT', 'DESCRIPTION'], rows);
      if (offers.length > 0) {
        if (rows.length > 0) terminal.out('\n');
        const others = offers.map(({ effective, kind, source, description }) => [
          effective,
          kind,
          source,
          oneLine(description ?? ''),
        ]);
        printTable(terminal, ['TO INSTALL', 'KIND', 'SOURCE', 'DESCRIPTION'], others);
      }
    }
    return 0;
  },
};
