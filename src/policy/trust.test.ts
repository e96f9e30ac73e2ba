// Tests of trusted workspaces: by real path, until a deciding file changes.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createTrustStore } from './trust.js';

const LATER = (): number => Date.now() + 60_000;

async function createTrusted() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'wield-trust-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const home = join(root, 'home');
  const work = join(root, 'work');
  mkdirSync(join(work, '.agents'), { recursive: true });
  const store = createTrustStore(home, LATER);
  await store.trust(work, new Date());
  return { root, home, work, isTrusted: (path = work) => createTrustStore(home, LATER).isTrusted(path) };
}

test('a change of any deciding file ends the trust', async () => {
  for (const name of ['.mcp.json', '.agents/mcp.json', '.agents/config.toml']) {
    const { work, isTrusted } = await createTrusted();
    expect(isTrusted()).toBe(true);
    writeFileSync(join(work, name), '# new');
    expect([name, isTrusted()]).toEqual([name, false]);
  }
});

test('a directory of tools that appears or leads elsewhere ends the trust; one that is gone does not', async () => {
  for (const name of ['skills', 'tools']) {
    const { root, work, isTrusted } = await createTrusted();
    mkdirSync(join(work, name));
    expect([name, isTrusted()]).toEqual([name, false]);
    rmSync(join(work, name), { recursive: true });
    expect([name, isTrusted()]).toEqual([name, true]);
    rmSync(join(work, '.agents'), { recursive: true });
    expect([name, isTrusted()]).toEqual([name, true]);
    mkdirSync(join(root, 'other'));
    symlinkSync(join(root, 'other'), join(work, '.agents'));
    expect([name, isTrusted()]).toEqual([name, false]);
  }
});

test('a deciding file that cannot be read ends the trust', async () => {
  const { work, isTrusted } = await createTrusted();
  mkdirSync(join(work, '.mcp.json'));
  expect(isTrusted()).toBe(false);
});

test('a damaged trust file trusts nothing', async () => {
  const { home, isTrusted } = await createTrusted();
  for (const text of ['', '{', '[]', '{"workspaces":{}}', '{"workspaces":[null]}']) {
    writeFileSync(join(home, 'trust.json'), text);
    expect([text, isTrusted()]).toEqual([text, false]);
  }
});

test('a change of files keeps the trust of a trusted workspace, and gives none to another', async () => {
  const { home, work, isTrusted } = await createTrusted();
  const store = createTrustStore(home, LATER);
  const change = async (): Promise<string> => {
    writeFileSync(join(work, '.mcp.json'), `${Math.random()}`);
    return 'done';
  };
  expect([await store.keep(work, new Date(), change), isTrusted()]).toEqual(['done', true]);
  await change();
  expect([await store.keep(work, new Date(), change), isTrusted()]).toEqual(['done', false]);
  await store.revoke(work);
  expect([await store.keep(work, new Date(), change), isTrusted()]).toEqual(['done', false]);
  // A change is made whatever the record is like.
  writeFileSync(join(home, 'trust.json'), '{');
  expect([await store.keep(work, new Date(), change), isTrusted()]).toEqual(['done', false]);
});

test('trust belongs to the real path, not to a link to it', async () => {
  const { root, work, isTrusted } = await createTrusted();
  const link = join(root, 'link');
  symlinkSync(work, link);
  expect(isTrusted(link)).toBe(true);
  rmSync(link);
  mkdirSync(join(root, 'other'));
  symlinkSync(join(root, 'other'), link);
  expect(isTrusted(link)).toBe(false);
  expect(isTrusted(join(root, 'none'))).toBe(false);
});
