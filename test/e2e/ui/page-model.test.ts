// The parts of the page that need no browser: the tree of calls, the search and the address.

import { expect } from 'vitest';
import type { CallRow, CatalogItem, RunningRow } from '../../../src/ui/api.js';
import { toCallTree } from '../../../src/ui/page/call-tree.js';
import { searchItems } from '../../../src/ui/page/search.js';
import { spec } from '../../support/spec.js';

const ALL = { caller: '', tool: '', verdict: '' };

function finished(id: string, parent: string | null, second: number, more: Partial<CallRow> = {}): CallRow {
  const time = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  const base = {
    pid: 1,
    caller: 'mcp:cursor',
    kind: 'model',
    door: 'mcp',
    rule: null,
    reason: null,
    approval: null,
  } as const;
  const sizes = { durationMs: 500, inputBytes: 2, outputBytes: 2, sandbox: null, workdir: '/' };
  return { id, parent, time, tool: id, verdict: 'allow', code: null, ...base, ...sizes, ...more };
}

function running(id: string, parent: string | null, second: number): RunningRow {
  const { time, ...row } = finished(id, parent, second);
  return { ...row, since: time };
}

const shape = (nodes: ReturnType<typeof toCallTree>): string[] =>
  nodes.map(({ call, depth }) => `${' '.repeat(depth)}${call.id}${call.isRunning ? ' …' : ''}`);

spec('UI-65', 'calls are shown below their callers, newest first, running ones too', () => {
  const calls = [finished('a', null, 1), finished('a1', 'a', 2), finished('b', 'gone', 3), finished('self', 'self', 4)];
  const live = [running('c', null, 5), running('c1', 'c', 6), running('a', null, 1)];
  expect(shape(toCallTree(calls, live, ALL))).toEqual(['c …', ' c1 …', 'self', 'b', 'a', ' a1']);
});

spec('UI-65', 'filters keep the callers of a call that matches', () => {
  const calls = [
    finished('a', null, 1),
    finished('a1', 'a', 2, { verdict: 'deny', code: 'denied' }),
    finished('b', null, 3, { code: 'tool_failed', caller: 'cli' }),
  ];
  const live = [running('c', null, 5)];
  const found = (filter: Partial<typeof ALL>): string[] => shape(toCallTree(calls, live, { ...ALL, ...filter }));
  expect(found({ verdict: 'deny' })).toEqual(['a', ' a1']);
  expect(found({ verdict: 'failed' })).toEqual(['b', 'a', ' a1']);
  expect(found({ verdict: 'running' })).toEqual(['c …']);
  expect(found({ tool: 'A1' })).toEqual(['a', ' a1']);
  expect(found({ caller: 'CLI' })).toEqual(['b']);
});

spec('UI-60', 'search needs every word, and ranks names before texts', () => {
  const item = (name: string, description: string, kind: CatalogItem['kind'] = 'tool'): CatalogItem => ({
    id: `${kind}:${name}`,
    ...{ kind, name, description, state: 'listed', tags: [], marks: [] },
  });
  const items = [
    item('list', 'Show logs.'),
    item('logs', 'Read.'),
    item('read-logs', 'Tail.'),
    item('log', 'Logs', 'skill'),
  ];
  const names = (text: string, kind: 'all' | 'skill' = 'all') => searchItems(items, text, kind).map(({ name }) => name);
  expect(names('logs')).toEqual(['logs', 'read-logs', 'list', 'log']);
  expect(names('read tail')).toEqual(['read-logs']);
  expect(names('', 'skill')).toEqual(['log']);
  expect(names('none')).toEqual([]);
});
