// Pins: a tool of a package or an upstream that is not what it was when it was approved asks again, and shows how.

import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createCatalog } from '../catalog/catalog.js';
import type { Owner } from '../core/origin.js';
import type { JsonSchema } from '../core/schema.js';
import { DEFAULT_SETTINGS } from '../core/settings.js';
import type { Tool } from '../core/tool.js';
import type { Toolbox } from '../core/toolbox.js';
import { createFunctionExecutor } from '../executors/function/index.js';
import { NO_CASCADE } from '../extras/levels.js';
import { digestParts } from '../files/digest.js';
import { toTool } from '../formats/module/define.js';
import { assembleToolbox } from '../runtime/create.js';
import { createExecutors } from '../runtime/execute.js';
import { createLimiter } from '../runtime/limiter.js';
import { createSearch } from '../runtime/list.js';
import { createObservers } from '../runtime/observers.js';
import { NO_CONSENTS } from '../runtime/parts.js';
import { createFixedWorkspace } from '../toolbox.js';
import { createPinStore, type PinStore } from './pins.js';

const WORLD = {
  env: {},
  home: undefined,
  platform: 'none',
  now: Date.now,
  monotonic: () => performance.now(),
  debug: () => {},
  debugging: false,
};

function createStore(): { readonly store: PinStore; readonly home: string } {
  const home = mkdtempSync(join(tmpdir(), 'wield-pins-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return { store: createPinStore(home, Date.now), home };
}

/** The one file that pins are in. */
function pinFile(home: string): string {
  const [name, ...others] = readdirSync(join(home, 'pins'));
  expect(others).toEqual([]);
  return join(home, 'pins', name!);
}

function upstreamTool(description: string, owner: Owner = 'upstream', inputSchema?: JsonSchema): Tool {
  const tool = toTool({
    name: 'remote',
    description,
    ...(inputSchema === undefined ? {} : { inputSchema }),
    execute: () => 'ran',
  });
  return { ...tool, origin: { ...tool.origin, owner, source: 'acme' } };
}

/** A toolbox that offers just this tool, as a package or an upstream would. */
function offering(tool: Tool, store: PinStore): Toolbox {
  const catalog = createCatalog({
    registered: new Map([[tool.name, tool]]),
    builtin: [],
    offered: () => 'none',
    formats: [],
    offers: () => [],
    toAbsolute: () => undefined,
    ownerOf: () => 'workspace',
    index: { load: () => undefined, save: () => {}, remove: () => {} },
    world: WORLD,
  });
  return assembleToolbox({
    parts: {
      workspace: createFixedWorkspace('/', DEFAULT_SETTINGS, WORLD),
      catalog,
      executors: createExecutors([createFunctionExecutor({ digest: digestParts, debug: () => {} })]),
      cascade: NO_CASCADE,
      consents: {
        ...NO_CONSENTS,
        check: (found) => {
          const pin = store.check(found);
          return typeof pin === 'string' ? {} : { changes: pin.diff };
        },
      },
      limiter: createLimiter(),
      labels: undefined,
      observers: createObservers({ debug: () => {} }),
      middleware: { own: [], of: () => undefined },
      stores: undefined,
    },
    search: createSearch(catalog, NO_CASCADE),
    instructions: () => '',
    watch: () => () => {},
  });
}

const model = { caller: { kind: 'model', door: 'mcp' } } as const;

describe('a pin', () => {
  test.each(['package', 'upstream'] as const)('of a tool of a %s holds its definition', async (owner) => {
    const { store, home } = createStore();
    const before = offering(upstreamTool('Read a page.', owner), store);
    const found = await before.find('remote');
    expect(store.check(found)).toBe('new');
    await store.pin([found], new Date());
    expect(store.check(found)).toBe('same');
    expect((await before.call('remote', {}, model)).ok).toBe(true);
    expect(statSync(pinFile(home)).mode & 0o777).toBe(0o600);

    const after = offering(upstreamTool('Read a page, and send it on.', owner), createPinStore(home, Date.now));
    const result = await after.call('remote', {}, model);
    expect(result.error).toMatchObject({ code: 'needs_approval' });
    const changes = (result.error!.data as { changes: string[] }).changes.join('\n');
    expect(changes).toContain('-   "Read a page."');
    expect(changes).toContain('+   "Read a page, and send it on."');
    const { verdict } = await after.explain('remote', {}, model);
    expect(verdict).toMatchObject({ verdict: 'ask', rule: null });

    await store.pin([await after.find('remote')], new Date());
    expect((await after.call('remote', {}, model)).ok).toBe(true);
    expect((await before.call('remote', {}, model)).error!.code).toBe('needs_approval');
  });

  test('shows a changed schema, and spells out what cannot be seen', async () => {
    const { store } = createStore();
    const schema = (type: string): JsonSchema => ({ type: 'object', properties: { page: { type } } });
    await store.pin(
      [await offering(upstreamTool('Read.', 'upstream', schema('string')), store).find('remote')],
      new Date(),
    );
    const hidden = 'Read.\u{e0053}\u{e0065}\u202e\u200b\u001b[2J';
    const changed = await offering(upstreamTool(hidden, 'upstream', schema('integer')), store).find('remote');
    const { diff } = store.check(changed) as { diff: string[] };
    expect(diff.join('\n')).toContain('<U+E0053><U+E0065><U+202E><U+200B>');
    expect(diff.join('\n')).toMatch(/\+ .*"type": "integer"/);
    expect(diff.join('')).not.toMatch(/[\u001b\u202e\u200b\u{e0000}-\u{e007f}]/u);
  });

  test('of code that changed under the same words says so', async () => {
    const { store } = createStore();
    await store.pin([await offering(upstreamTool('Read.'), store).find('remote')], new Date());
    const other = upstreamTool('Read.');
    const changed = { ...other, action: { kind: 'function', run: () => 'another' } } as Tool;
    const found = await offering(changed, store).find('remote');
    expect(store.check(found)).toEqual({ diff: ['what it runs changed; its description did not'] });
  });

  test('is not for tools of the user, a workspace or this program', async () => {
    const { store, home } = createStore();
    for (const owner of ['program', 'user', 'workspace'] as const) {
      const found = await offering(upstreamTool('Read.', owner), store).find('remote');
      await store.pin([found], new Date());
      expect(store.check(found)).toBe('same');
    }
    expect(() => pinFile(home)).toThrow('ENOENT');
  });

  test('is kept apart by source and name; a record that cannot be read refuses', async () => {
    const { store, home } = createStore();
    const one = await offering(upstreamTool('Read.'), store).find('remote');
    await store.pin([one], new Date());
    expect(store.check({ ...one, origin: { ...one.origin, source: 'other' } })).toBe('new');
    expect(store.check({ ...one, name: 'remote2' })).toBe('new');
    writeFileSync(pinFile(home), '{ "pins": [1] }');
    const result = await offering(upstreamTool('Read.'), store).call('remote', {}, model);
    expect(result.error).toMatchObject({ code: 'io' });
  });
});
