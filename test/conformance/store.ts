// The shared test suite of document and result stores.

import { describe, expect } from 'vitest';
import type { DocumentStore, ResultStore } from '../../src/core/store.js';
import { spec } from '../support/spec.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (content: Uint8Array): string => Buffer.from(content).toString('utf8');

export function describeDocumentStore(name: string, open: () => DocumentStore): void {
  describe(`documents in ${name}`, () => {
    spec('CTX-10', 'writes, reads, lists and removes documents', async () => {
      const store = open();
      const written = await store.write('notes/a.md', bytes('first\n'));
      expect(written).toMatchObject({ path: 'notes/a.md', version: 1, size: 6, kind: 'text' });
      await store.write('notes/b.json', bytes('{"a":1}'));
      expect(text((await store.read('notes/a.md')).content)).toBe('first\n');
      expect((await store.list()).map(({ path, kind }) => [path, kind])).toEqual([
        ['notes/a.md', 'text'],
        ['notes/b.json', 'json'],
      ]);
      await store.remove('notes/a.md');
      expect((await store.list('notes')).map(({ path }) => path)).toEqual(['notes/b.json']);
      await expect(store.read('notes/a.md')).rejects.toMatchObject({
        code: 'not_found',
        hint: expect.stringContaining('version: 1'),
      });
      await expect(store.remove('notes/a.md')).rejects.toMatchObject({ code: 'not_found' });
    });

    spec('CTX-10', 'rejects an existing path and keeps its content', async () => {
      const store = open();
      await store.write('x', bytes('old'));
      await expect(store.write('x', bytes('new'))).rejects.toMatchObject({
        code: 'path_conflict',
        hint: expect.stringMatching(/context_read.*overwrite/),
      });
      expect(text((await store.read('x')).content)).toBe('old');
      expect(await store.write('x', bytes('new'), { overwrite: true })).toMatchObject({ version: 2 });
      expect(text((await store.read('x')).content)).toBe('new');
      await expect(store.copy('x', 'x')).rejects.toMatchObject({ code: 'path_conflict' });
      await store.copy('x', 'deep/er/y');
      expect(text((await store.read('deep/er/y')).content)).toBe('new');
    });

    spec('CTX-13', 'keeps every version; a deletion is a version and can be undone', async () => {
      const store = open();
      for (const content of ['one', 'two']) await store.write('v', bytes(content), { overwrite: true });
      await store.remove('v');
      expect((await store.versions('v')).map(({ version, size }) => [version, size])).toEqual([
        [3, null],
        [2, 3],
        [1, 3],
      ]);
      expect(text((await store.read('v', 1)).content)).toBe('one');
      expect(text((await store.read('v', 2)).content)).toBe('two');
      await expect(store.read('v', 3)).rejects.toMatchObject({ code: 'not_found' });
      await expect(store.read('v', 9)).rejects.toMatchObject({
        code: 'not_found',
        hint: 'available versions: 2, 1',
      });
      expect(await store.versions('never')).toEqual([]);
      // A deleted path can be written again.
      expect(await store.write('v', (await store.read('v', 2)).content)).toMatchObject({ version: 4 });
      expect(text((await store.read('v')).content)).toBe('two');
    });

    spec('CTX-12', 'normalises paths', async () => {
      const store = open();
      await store.write('./notes//caf\u0065\u0301.md', bytes('x'));
      expect((await store.read('notes/caf\u00e9.md')).path).toBe('notes/caf\u00e9.md');
      for (const path of ['/etc/passwd', '../x', 'a/../../x', '~/x', 'C:/x', 'a\\b']) {
        await expect(store.write(path, bytes('x')), path).rejects.toMatchObject({ code: 'path_escape' });
      }
      for (const path of ['', '.', 'a\0b', 'a\nb', 'x'.repeat(2000), 'a/'.repeat(40), '\ud800']) {
        await expect(store.write(path, bytes('x')), path).rejects.toMatchObject({ code: 'invalid_input' });
      }
    });

    spec('CTX-40', 'finds new content immediately, best match first, and no old content', async () => {
      const store = open();
      await store.write('a.md', bytes(`${'filler line\n'.repeat(500)}the quarterly revenue rose\n`));
      await store.write('b.md', bytes('revenue is mentioned here\n'));
      await store.write('c/d.md', bytes('nothing of interest\n'));
      const [best, second] = await store.search('quarterly revenue');
      expect(best).toMatchObject({ path: 'a.md', endLine: 501 });
      expect(best!.snippet).toContain('quarterly revenue rose');
      expect(best!.snippet.length).toBeLessThanOrEqual(300);
      expect(best!.startLine).toBeGreaterThan(1);
      expect(second!.path).toBe('b.md');
      expect((await store.search('quarterly revenue', { prefix: 'b.md' })).map(({ path }) => path)).toEqual(['b.md']);
      expect(await store.search('interest', { prefix: 'c' })).toHaveLength(1);
      await store.write('a.md', bytes('something else\n'), { overwrite: true });
      expect(await store.search('quarterly')).toEqual([]);
      await store.remove('b.md');
      expect(await store.search('revenue')).toEqual([]);
      expect(await store.search('"; DROP TABLE x; -- * ^ NEAR(')).toEqual([]);
      expect(await store.search('   ')).toEqual([]);
    });

    spec('CTX-40', 'finds words of scripts without spaces, also inside a run of letters', async () => {
      const store = open();
      await store.write('jp.md', bytes('これは日本語のテキストです。検索できますか'));
      await store.write('th.md', bytes('ระบบนี้ค้นหาข้อความภาษาไทยได้'));
      await store.write('zh.md', bytes('使用wield搜索全文，标题：第一章'));
      await store.write('hi.md', bytes('यह हिन्दी में एक वाक्य है'));
      await store.write('en.md', bytes('plain words'));
      const found = async (query: string) => (await store.search(query)).map(({ path }) => path);
      for (const word of ['日本語', '検索', 'テキスト', '本', 'か', 'です', 'これは日本語のテキストです', 'ﾃｷｽﾄ'])
        expect([word, await found(word)]).toEqual([word, ['jp.md']]);
      for (const word of ['ค้นหา', 'ภาษาไทย', 'ข้อความ', 'ได้'])
        expect([word, await found(word)]).toEqual([word, ['th.md']]);
      for (const word of ['wield', 'wield搜索', '全文', '用wield搜', '章', '第一章'])
        expect([word, await found(word)]).toEqual([word, ['zh.md']]);
      expect(await found('हिन्दी')).toEqual(['hi.md']);
      for (const word of ['本日', '語日', 'ไทยค้น', '文全']) expect([word, await found(word)]).toEqual([word, []]);
      expect((await store.search('日本語'))[0]!.snippet).toContain('日本語');
    });

    spec('CTX-40', 'returns one match per document', async () => {
      const store = open();
      await store.write('long.md', bytes('zebra zebra zebra\n'.repeat(60_000)));
      for (const at of [1, 2, 3]) await store.write(`short/${at}.md`, bytes(`one zebra ${'among others '.repeat(9)}`));
      const found = await store.search('zebra', { limit: 4 });
      expect(found.map(({ path }) => path).sort()).toEqual(['long.md', 'short/1.md', 'short/2.md', 'short/3.md']);
      expect((await store.search('zebra', { prefix: 'short', limit: 2 })).map(({ path }) => path)).toHaveLength(2);
    });

    spec('CTX-12', 'matches prefixes by whole path segments', async () => {
      const store = open();
      for (const path of ['a', 'a/b', 'a/b/c', 'a-b', 'ab', 'a0', 'b', 'a/😀']) await store.write(path, bytes('zebra'));
      expect((await store.list('a')).map(({ path }) => path)).toEqual(['a', 'a/b', 'a/b/c', 'a/😀']);
      expect((await store.search('zebra', { prefix: 'a/b' })).map(({ path }) => path).sort()).toEqual(['a/b', 'a/b/c']);
      expect(await store.list()).toHaveLength(8);
    });

    spec('CTX-11', 'rejects a write that replaces an outdated version', async () => {
      const store = open();
      await store.write('x', bytes('one'));
      expect(await store.write('x', bytes('two'), { replaces: 1 })).toMatchObject({ version: 2 });
      await expect(store.write('x', bytes('three'), { replaces: 1 })).rejects.toMatchObject({
        code: 'path_conflict',
      });
      expect(text((await store.read('x')).content)).toBe('two');
    });

    spec('CTX-10', 'reads a document in pieces', async () => {
      const store = open();
      await store.write('x', bytes('0123456789'));
      const opened = await store.open('x');
      expect(opened).toMatchObject({ path: 'x', version: 1, size: 10, kind: 'text' });
      expect(text(opened.read(3, 4))).toBe('3456');
      expect(text(opened.read(8, 40))).toBe('89');
      expect(opened.read(50, 4)).toHaveLength(0);
      opened.close();
      await expect(store.open('y')).rejects.toMatchObject({ code: 'not_found' });
      await expect(store.open('x', 7)).rejects.toMatchObject({ code: 'not_found' });
    });

    spec('CTX-40', 'stores binary content and does not index it', async () => {
      const store = open();
      const binary = Uint8Array.from({ length: 256 }, (_, at) => at);
      expect(await store.write('x.bin', binary)).toMatchObject({ kind: 'binary', size: 256 });
      expect(Buffer.from((await store.read('x.bin')).content).equals(Buffer.from(binary))).toBe(true);
      expect(await store.search('abc')).toEqual([]);
    });
  });
}

const LIMITS = { keepMs: 3_600_000, totalBytes: 1024 * 1024 };

export function describeResultStore(name: string, open: () => ResultStore): void {
  describe(`results in ${name}`, () => {
    const store = (results: ResultStore, chunks: readonly Uint8Array[], session = 'mine') => {
      const writer = results.create(session, LIMITS);
      for (const chunk of chunks) writer.write(chunk);
      return writer.finish().handle;
    };

    spec('CTX-1', 'stores the exact bytes', async () => {
      const results = open();
      const binary = Buffer.from(Uint8Array.from({ length: 1000 }, (_, at) => at % 256));
      const handle = store(results, [binary.subarray(0, 333), binary.subarray(333)]);
      expect(handle).toMatchObject({ size: 1000, kind: 'binary' });
      const opened = (await results.open(handle.id, 'mine'))!;
      expect(Buffer.from(opened.read(0, 5000)).equals(binary)).toBe(true);
      expect(Buffer.from(opened.read(990, 100)).equals(binary.subarray(990))).toBe(true);
      expect(opened.read(2000, 10)).toHaveLength(0);
      opened.close();
    });

    spec('CTX-1', 'describes kind, shape and preview in the handle', async () => {
      const results = open();
      const rows = Array.from({ length: 3 }, (_, id) => ({ id, email: 'a@b.c' }));
      expect(store(results, [Buffer.from(JSON.stringify(rows))])).toMatchObject({
        kind: 'json',
        shape: '[{ id, email }] × 3',
        preview: JSON.stringify(rows),
      });
      // A character split between two chunks.
      const euro = Buffer.from('x€y');
      expect(store(results, [euro.subarray(0, 2), euro.subarray(2)])).toMatchObject({
        kind: 'text',
        preview: 'x€y',
      });
      expect(store(results, [Buffer.from([0x78, 0xff, 0xfe])])).toMatchObject({ kind: 'binary' });
      expect(store(results, [Buffer.from('{"half":')])).toMatchObject({ kind: 'text' });
    });

    spec('CTX-3', 'does not open results of other sessions or unknown ids', async () => {
      const results = open();
      const { id } = store(results, [Buffer.from('secret')]);
      expect(id).toMatch(/^r_[A-Za-z0-9_-]{22}$/);
      expect(await results.open(id, 'other')).toBeUndefined();
      expect(await results.open(`${id.slice(0, -2)}zz`, 'mine')).toBeUndefined();
      expect(await results.open('../../etc/passwd', 'mine')).toBeUndefined();
      const writer = results.create('mine', LIMITS);
      writer.write(Buffer.from('half'));
      writer.discard();
      expect(new Set(Array.from({ length: 50 }, () => store(results, []).id)).size).toBe(50);
    });
  });
}
