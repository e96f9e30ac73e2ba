// Property tests of connecting and undoing: everything else stays, and undo restores the bytes.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { rounds } from '../../test/support/effort.js';
import { spec } from '../../test/support/spec.js';
import { applyPlan, findFile, planConnect, planUndo } from './connect.js';
import { valueAt } from './forms/form.js';
import { createRecordStore } from './records.js';
import { CLIENTS } from './table.js';

const root = mkdtempSync(join(tmpdir(), 'wield-connect-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const key = fc.stringMatching(/^[a-z][a-z0-9 ."#-]{0,7}$/);
const scalar = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.integer(),
  fc.boolean(),
  fc.constant('// no comment, {}[] # none'),
);
const entry = fc.record({ command: fc.string({ maxLength: 8 }), args: fc.array(scalar.map(String), { maxLength: 3 }) });
const servers = fc.dictionary(key, entry, { maxKeys: 4, noNullPrototype: true });
const others = fc.dictionary(key, fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })), {
  maxKeys: 3,
  noNullPrototype: true,
});

interface Style {
  readonly unit: string;
  readonly eol: string;
  readonly mark: boolean;
  readonly comments: boolean;
  readonly commas: boolean;
  readonly end: boolean;
}

const style: fc.Arbitrary<Style> = fc.record({
  unit: fc.constantFrom('', '  ', '    ', '\t', '   '),
  eol: fc.constantFrom('\n', '\r\n'),
  mark: fc.boolean(),
  comments: fc.boolean(),
  commas: fc.boolean(),
  end: fc.boolean(),
});

function printJson(document: object, { unit, eol, mark, comments, commas, end }: Style): string {
  const lines = JSON.stringify(document, null, unit).split('\n');
  const spread = lines.length > 1;
  const text = lines.map((line, at) => {
    const closes = /^\s*[\]}],?$/.test(lines[at + 1] ?? '') && !/[[{,]$/.test(line);
    const trailing = spread && commas && closes ? ',' : '';
    const remark = spread && comments && at % 2 === 1 ? ' // a remark, with "quotes"' : '';
    return line + trailing + remark;
  });
  return (mark ? '\ufeff' : '') + text.join(eol) + (end ? eol : '');
}

function printToml(document: Record<string, object>, { eol, mark, comments, end }: Style): string {
  const value = (one: unknown): string =>
    Array.isArray(one) ? `[${one.map(value).join(`,${eol}  `)}]` : JSON.stringify(one).replaceAll('\u007f', '\\u007f');
  const { mcp_servers: tables = {}, ...rest } = document;
  const fields = (table: object): string[] =>
    Object.entries(table).map(([name, one]) => `${JSON.stringify(name)} = ${value(one)}${comments ? ' # why' : ''}`);
  const lines = [
    ...fields(rest),
    ...Object.entries(tables).flatMap(([name, table]) => [
      '',
      '# about it',
      `[mcp_servers.${JSON.stringify(name)}]`,
      ...fields(table),
    ]),
  ];
  return (mark ? '\ufeff' : '') + lines.join(eol) + (end ? eol : '');
}

function printYaml(document: Record<string, object>, { eol, comments, end }: Style): string {
  const { extensions = {}, ...rest } = document;
  const lines = [
    ...Object.entries(rest).map(
      ([name, one]) => `${JSON.stringify(name)}: ${JSON.stringify(one)}${comments ? ' # why' : ''}`,
    ),
    ...(Object.keys(extensions).length === 0 ? [] : ['extensions:']),
    ...Object.entries(extensions).flatMap(([name, table]) => [
      `  ${JSON.stringify(name)}:`,
      ...Object.entries(table as object).map(([field, one]) => `    ${field}: ${JSON.stringify(one)}`),
      ...(comments ? ['  # about the next'] : []),
    ]),
  ];
  return lines.join(eol) + (end ? eol : '');
}

const PRINTERS: Record<string, (document: Record<string, object>, style: Style) => string> = {
  codex: printToml,
  goose: printYaml,
};

// One client per format.
const WAYS = ['claude-code', 'opencode', 'codex', 'goose'];

for (const client of CLIENTS.filter(({ id }) => WAYS.includes(id))) {
  spec('SRV-11', `${client.id}: connecting adds one entry, and undo restores the bytes`, async () => {
    const home = join(root, client.id);
    const environment = { workdir: join(home, 'project'), home, platform: 'linux', env: {} };
    const file = findFile(client, 'user', environment)!;
    mkdirSync(dirname(file.path), { recursive: true });
    const store = createRecordStore(join(home, '.wield'));
    const server = { name: 'wield', command: '/usr/bin/node', args: ['/opt/wield.cjs', 'serve', '--cwd', '/a "b"'] };
    await fc.assert(
      fc.asyncProperty(servers, others, style, fc.boolean(), async (tables, rest, look, twice) => {
        const table = file.tables({})[0]!;
        const document = { ...rest, [table[0]!]: tables } as Record<string, object>;
        const text = (PRINTERS[client.id] ?? printJson)(document, look);
        writeFileSync(file.path, text);
        const before = client.form.parse(text.replace(/^\ufeff/, ''));
        await applyPlan(planConnect(client, file, server, store), store);
        if (twice) await applyPlan(planConnect(client, file, { ...server, args: ['serve'] }, store), store);
        const between = readFileSync(file.path, 'utf8');
        const after = client.form.parse(between.replace(/^\ufeff/, '')) as object;
        expect(valueAt(after, [...table, 'wield'])).toBeDefined();
        for (const [name, one] of Object.entries(valueAt(before, table) ?? {}))
          expect(valueAt(after, [...table, name])).toEqual(one);
        for (const name of Object.keys(rest)) expect(valueAt(after, [name])).toEqual(valueAt(before, [name]));
        if (look.eol === '\r\n' && text.includes('\r\n')) expect(between).not.toMatch(/[^\r]\n/);

        await applyPlan(planUndo(client, file, 'wield', store), store);
        expect(existsSync(file.path)).toBe(true);
        expect(readFileSync(file.path, 'utf8')).toBe(text);
        expect(store.find(file.path, [...table, 'wield'])).toEqual([]);
      }),
      { numRuns: rounds(12, 40) },
    );
  });

  spec('SRV-11', `${client.id}: without a record only the entry is removed`, async () => {
    const home = join(root, `${client.id}-bare`);
    const environment = { workdir: join(home, 'project'), home, platform: 'linux', env: {} };
    const file = findFile(client, 'user', environment)!;
    mkdirSync(dirname(file.path), { recursive: true });
    const server = { name: 'wield', command: 'wield', args: ['serve'] };
    let turn = 0;
    await fc.assert(
      fc.asyncProperty(servers, style, async (tables, look) => {
        const table = file.tables({})[0]!;
        const text = (PRINTERS[client.id] ?? printJson)({ [table[0]!]: tables }, look);
        writeFileSync(file.path, text);
        const store = createRecordStore(join(home, String(turn++)));
        await applyPlan(planConnect(client, file, server, store), store);
        const forgotten = createRecordStore(join(home, String(turn++)));
        await applyPlan(planUndo(client, file, 'wield', forgotten), forgotten);
        const left = readFileSync(file.path, 'utf8').replace(/^\ufeff/, '');
        expect(valueAt(client.form.parse(left), table) ?? {}).toEqual(tables);
      }),
      { numRuns: rounds(8, 20) },
    );
  });
}
