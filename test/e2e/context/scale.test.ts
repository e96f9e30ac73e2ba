import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openDatabase } from '../../../src/context/store/database.js';
import type { NodeToolbox } from '../../../src/node.js';
import { patience } from '../../support/patience.js';
import { spec } from '../../support/spec.js';
import { createWorkspace } from '../../support/workspace.js';

const COUNT = 100_000;
const WORDS = ['river', 'stone', 'market', 'letter', 'engine', 'garden', 'winter', 'paper', 'signal', 'harbour'];

const textOfNote = (at: number): string =>
  `note ${at}\n${Array.from({ length: 12 }, (_, word) => `${WORDS[(at + word * word) % 10]}${(at * word) % 977}`).join(' ')}\n`;

// Inserts rows as a write does, in one transaction, with the payloads and words of a hundred real documents.
function multiply(file: string): void {
  const db = openDatabase(file);
  db.exec('CREATE TEMP TABLE real (at INTEGER PRIMARY KEY, payload, size, words)');
  const payloads = db.prepare('SELECT payload, size FROM versions ORDER BY path').all();
  const add = db.prepare('INSERT INTO real VALUES (?, ?, ?, ?)');
  for (const [at, { payload, size }] of payloads.entries())
    add.run(at, payload!, size!, textOfNote(at).split('\n')[1]!);
  db.exec(`CREATE TEMP TABLE note AS
    WITH RECURSIVE number (at) AS (SELECT 100 UNION ALL SELECT at + 1 FROM number WHERE at < ${COUNT - 1})
    SELECT number.at, 'shelf-' || (number.at % 500) || '/note-' || number.at || '.md' AS path, payload, size, words
    FROM number JOIN real ON real.at = number.at % 100;
    BEGIN;
    INSERT INTO versions SELECT path, 1, payload, size, 'text', 0 FROM note;
    INSERT INTO documents SELECT at + 1, path, 1, 1 FROM note;
    INSERT INTO chunks SELECT at + 1, at + 1, 1, 2, 0, size FROM note;
    INSERT INTO words (rowid, text) SELECT at + 1, 'note ' || at || ' ' || words FROM note;
    COMMIT`);
  db.close();
}

/** Calls a tool and returns the CPU time of this process in milliseconds, which other load does not change. */
async function timed(toolbox: NodeToolbox, name: string, input: object): Promise<readonly [number, unknown]> {
  const before = process.cpuUsage();
  const { error, structured } = await toolbox.call(name, input, { full: true });
  const { user, system } = process.cpuUsage(before);
  expect(error).toBeUndefined();
  return [(user + system) / 1000, structured];
}

spec(
  'CTX-41',
  'searches 100,000 documents in interactive time and opens immediately',
  async () => {
    const workspace = createWorkspace();
    const first = workspace.toolbox();
    for (let at = 0; at < 100; at++)
      await first.state.stores.documents.write(`shelf-${at}/note-${at}.md`, Buffer.from(textOfNote(at)));
    await first.close();
    const projects = join(workspace.env.WIELD_HOME!, 'projects');
    multiply(join(projects, readdirSync(projects)[0]!, 'context', 'documents.db'));

    const toolbox = workspace.toolbox();
    // The first call opens the store. The limits are generous for slow machines; see the benchmark for exact times.
    const [opening] = await timed(toolbox, 'context_exists', { path: 'shelf-42/note-99542.md' });
    expect(opening).toBeLessThan(patience(4000));
    for (const [query, path] of [
      ['note 77777'],
      ['river12 winter'],
      ['harbour', 'shelf-42'],
      ['note', 'shelf-42'],
      ['nothingofthekind'],
    ] as const) {
      const [took, found] = await timed(toolbox, 'context_search', { query, ...(path && { path }) });
      expect(took, query).toBeLessThan(patience(12_000));
      const { hits } = found as { hits: { path: string }[] };
      if (query === 'note 77777') expect(hits[0]?.path).toBe('shelf-277/note-77777.md');
      if (path) expect(hits.every((hit) => hit.path.startsWith('shelf-42/'))).toBe(true);
    }
    await toolbox.call('context_write', { path: 'new.md', content: 'a zebra among them' });
    expect((await timed(toolbox, 'context_search', { query: 'zebra' }))[1]).toMatchObject({
      hits: [{ path: 'new.md' }],
    });
    const [listing, { documents }] = (await timed(toolbox, 'context_list', { path: 'shelf-42' })) as [
      number,
      { documents: unknown[] },
    ];
    expect(documents).toHaveLength(200);
    expect(listing).toBeLessThan(patience(8000));
  },
  300_000,
);
