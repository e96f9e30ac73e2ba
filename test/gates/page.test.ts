// Gate: the files of the page are small and contain nothing inline.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { built } from '../support/built.js';
import { spec } from '../support/spec.js';

const MAX_BYTES = 45 * 1024;
const FOLDER = built('ui');

spec('UI-53', 'the page has at most 45 KB, gzipped', () => {
  const files = readdirSync(FOLDER).sort();
  expect(files).toEqual(['index.html', 'page.css', 'page.js']);
  const sizes = files.map((file) => gzipSync(readFileSync(join(FOLDER, file))).length);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_BYTES);
});

spec('UI-53', 'the page contains nothing inline and loads nothing from elsewhere', () => {
  const html = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  expect(html.match(/<script[^>]*>[^<]+|<style|\son\w+=|\sstyle=|https?:/g)).toBeNull();
  expect([...html.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, target]) => target)).toEqual([
    'data:,',
    'page.css',
    'page.js',
  ]);
  const css = readFileSync(join(FOLDER, 'page.css'), 'utf8');
  expect(css.match(/url\(|@import/g)).toBeNull();
  const script = readFileSync(join(FOLDER, 'page.js'), 'utf8');
  expect(script.match(/\beval\(|new Function|insertAdjacentHTML|document\.write/g)).toBeNull();
});

spec('UI-72', 'the frame of the page is in its HTML', () => {
  const html = readFileSync(join(FOLDER, 'index.html'), 'utf8');
  expect(html).toContain('<header class="top">');
  expect(html).toMatch(/<script type="module"/);
});
