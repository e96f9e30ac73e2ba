import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createDocumentFiles } from '../../src/context/store/documents.js';
import { createDocumentMemory } from '../../src/context/store/memory-documents.js';
import { createResultFiles } from '../../src/context/store/results.js';
import { createResultMemory } from '../support/memory-results.js';
import { describeDocumentStore, describeResultStore } from './store.js';

const now = () => Date.now();

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'wield-store-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

describeDocumentStore('memory', () => createDocumentMemory(now));

describeDocumentStore('files', () => {
  const directory = makeDirectory();
  const store = createDocumentFiles({ directory: () => directory, now });
  onTestFinished(() => store.close());
  return store;
});

describeResultStore('memory', createResultMemory);

describeResultStore('files', () => {
  const directory = join(makeDirectory(), 'results');
  return createResultFiles({
    directory: () => directory,
    now,
  });
});
