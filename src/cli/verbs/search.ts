// `wield search`: the tools that fit some words, best first.

import { ToolError } from '../../core/error.js';
import { oneLine, printJson, printTable } from '../print.js';
import type { Verb } from '../verb.js';

const DEFAULT_LIMIT = 10;

export const search: Verb = {
  name: 'search',
  usage: 'search <words> [--limit 10] [--json]',
  summary: 'Find tools by what they do. A name that is given exactly comes first.',
  examples: ['wield search publish the site', 'wield search deploy --json'],
  flags: { limit: { kind: 'value', value: 'NUMBER', description: 'Show at most this many' } },
  positionals: Number.POSITIVE_INFINITY,
  async run({ terminal, flags, positionals, json, toolbox }) {
    const query = positionals.join(' ');
    if (query.trim() === '') throw new ToolError('usage', 'no words given', { hint: 'wield search <words>' });
    const limit = Number(flags.get('limit') ?? DEFAULT_LIMIT);
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new ToolError('usage', '--limit must be a whole number above 0', { hint: 'write --limit 10' });
    }
    const hits = await toolbox().search(query, limit, { caller: { kind: 'person', door: 'cli' } });
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
      });
    } else if (hits.length === 0) terminal.out('No tool fits these words. wield list shows all.\n');
    else {
      const rows = hits.map(({ name, origin, description }) => [name, origin.format, oneLine(description)]);
      printTable(terminal, ['NAME', 'FORMAT', 'DESCRIPTION'], rows);
    }
    return 0;
  },
};
