// Row store: writing, opening and searching documents of the context store; tokens of a large result.

import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createDocumentFiles } from '../../dist/context/store/documents.js';
import { createNodeToolbox } from '../../dist/node.js';
import { measureRounds, ratios, sized, spread } from '../support/measure.mjs';
import { createDirectory, createWorkspace, settle } from '../support/workspace.mjs';

const WRITTEN = sized(10_000, 200);
const SEARCHED = sized(100_000, 400);
const BATCH = sized(200, 100);
const ROUNDS = 20;
const RESULT_BYTES = 1_000_000;
// About four characters of English or JSON per token; only the ratio matters here.
const CHARACTERS_A_TOKEN = 4;

// A vocabulary with a few common and many rare words, the same in every run.
let seed = 1;
const random = () => {
  seed = (seed * 48271) % 2147483647;
  return seed / 2147483647;
};
const word = () => `word${Math.floor(random() ** 3 * 50_000)}`;
const text = () => Array.from({ length: 60 }, word).join(' ');

export const row = {
  id: 'store',
  title: 'documents of the context store, and large results',
  async run() {
    const { directory, cases } = await measureWriting();
    return [...cases, ...(await measureReading(directory)), ...(await measureResults())];
  },
};

async function measureWriting() {
  const directory = createDirectory();
  const plain = createDirectory();
  const store = createDocumentFiles({ directory: () => directory, now: Date.now });
  let written = 0;
  const write = async () => {
    const began = performance.now();
    for (let at = 0; at < BATCH; at++) await store.write(`d${written % 100}/n${written++}.md`, text());
    return ((performance.now() - began) * 1000) / BATCH;
  };
  let files = 0;
  const writeFile = () => {
    const began = performance.now();
    for (let at = 0; at < BATCH; at++) {
      const folder = join(plain, `d${files % 100}`);
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'new'), text());
      renameSync(join(folder, 'new'), join(folder, `n${files++}.md`));
    }
    return ((performance.now() - began) * 1000) / BATCH;
  };
  const samples = await measureRounds({ write, writeFile }, WRITTEN / BATCH - 1);
  while (written < SEARCHED) await write();
  store.close();
  return {
    directory,
    cases: [
      { case: 'a file written and renamed (floor)', value: spread(samples.writeFile), unit: 'µs' },
      {
        case: `a document written and indexed, ${WRITTEN.toLocaleString('en')} in a row`,
        value: spread(samples.write),
        unit: 'µs',
        ratio: ratios(samples.write, samples.writeFile),
      },
    ],
  };
}

async function measureReading(directory) {
  const open = async () => {
    const began = performance.now();
    const store = createDocumentFiles({ directory: () => directory, now: Date.now });
    await store.read('d1/n1.md');
    const took = performance.now() - began;
    store.close();
    return took;
  };
  const store = createDocumentFiles({ directory: () => directory, now: Date.now });
  const search = async (query, options) => {
    const began = performance.now();
    await store.search(query, options);
    return performance.now() - began;
  };
  const samples = await measureRounds(
    {
      open,
      rare: () => search(`${word()} ${word()}`),
      common: () => search('word1 word2 word3'),
      below: () => search('word1 word2 word3', { prefix: 'd7' }),
    },
    ROUNDS,
  );
  store.close();
  const many = SEARCHED.toLocaleString('en');
  return [
    { case: `opening a store of ${many}, and a first read`, value: spread(samples.open), unit: 'ms' },
    { case: `searching ${many} for two words`, value: spread(samples.rare), unit: 'ms' },
    { case: `searching ${many} for three common words`, value: spread(samples.common), unit: 'ms' },
    {
      case: `searching one folder of ${many} for three common words`,
      value: spread(samples.below),
      unit: 'ms',
      ratio: ratios(samples.below, samples.common),
    },
  ];
}

async function measureResults() {
  const { dir, env, tools } = createWorkspace(0);
  const rows = Array.from({ length: 12_000 }, (_, id) => ({
    id,
    email: `person${id}@example.org`,
    amount: id * 1.5,
  }));
  const payload = JSON.stringify(rows).slice(0, RESULT_BYTES);
  writeFileSync(join(dir, 'payload'), payload);
  writeFileSync(join(tools, 'large'), '#!/bin/sh\n# @description Prints.\nexec cat payload\n', {
    mode: 0o755,
  });
  await settle();
  const toolbox = createNodeToolbox({ workdir: dir, env, trust: true });
  const tokens = async (options) => {
    const { content } = await toolbox.call('large', {}, options);
    const characters = content.reduce((sum, part) => sum + (part.text ?? '').length, 0);
    return characters / CHARACTERS_A_TOKEN;
  };
  const whole = await tokens({ full: true });
  const handle = await tokens({});
  await toolbox.close();
  const one = (value) => ({ median: value, p10: value, p90: value });
  return [
    { case: 'a result of 1 MB, whole (floor)', value: one(whole), unit: 'tokens' },
    { case: 'a result of 1 MB, by handle', value: one(handle), unit: 'tokens', ratio: one(handle / whole) },
  ];
}
