// Gate: words and phrases that this project does not use, in code, comments, messages, tests and documents.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../support/sources.js';

const TEXT = /\.(?:tsx?|html|css|mjs|cjs|md|json|toml)$/;
// This file lists the words; the lock file and corpora are not prose.
const EXEMPT = new Set(['test/gates/wording.test.ts', 'package-lock.json']);

const NOUNS = 'tool|object|text|directory|server|source|skill|list|file|shell|time|name|number|string|array|value|path';
const REPLACED: readonly RegExp[] = [
  /\bmend(?:s|ed|ing)?\b/i,
  /\bwho(?:m)?ever\b/i,
  /\banew\b/i,
  /\bmidst\b/i,
  /\bnone of ours\b/i,
  /\bis not ours\b/i,
  /\bnobody (?:is there|was there|asked|wants|listens|reads)\b/i,
  /\bmany an\b/i,
  /\band the like\b/i,
  /\bstands? (?:in|for|there|beside|before|behind|over|under)\b/i,
  /\bstanding (?:in|for)\b/i,
  /\bearns?\b/i,
  /\bsays? of (?:itself|himself|themselves)\b/i,
  new RegExp(`(?<!there )\\bis no (?:${NOUNS})\\b`, 'i'),
  /\b(?:this|that|which|it) is none\b/i,
  /\bin its own words\b/i,
  /\bis asked (?:for )?anew\b/i,
  /\bfor ever\b/i,
  /\bwithout end\b/i,
  /\bsurroundings\b/i,
  /\bcomplain(?:t|ts|s|ed|ing)?(?: of| about)?\b/i,
  /\bwishes\b/i,
  /\bsteadily\b/i,
  // `$sift` is a JSONata function.
  /(?<!\$)\bsift(?:s|ed|ing)?\b/i,
  /\bsieve(?:s|d)?\b/i,
  /\bprevail(?:s|ed)?\b/i,
  /\bMOMENT_MS\b/,
  /\beras?\b/i,
  /\bbrings? (?:with it|along)\b/i,
  /\bcame of it\b/i,
  /\bbecame of\b/i,
  /\bthereof|therein|whereof|wherein|hitherto|henceforth\b/i,
];

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: ROOT, encoding: 'utf8' })
  .split('\n')
  .filter((file) => TEXT.test(file) && !EXEMPT.has(file) && existsSync(join(ROOT, file)));

test('replaced words are not used', () => {
  const found = files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const used = REPLACED.filter((word) => word.test(text));
    if (used.length === 0) return [];
    return text.split('\n').flatMap((line, at) =>
      used.flatMap((word) => {
        const match = word.exec(line);
        return match === null ? [] : [`${file}:${at + 1}  ${match[0]}`];
      }),
    );
  });
  expect(found).toEqual([]);
});
