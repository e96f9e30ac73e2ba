// Writes to or reads from a shared context store until it is killed or its parent exits, and logs acknowledged writes.

import { createHash } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createDocumentFiles } from '../../dist/context/store/documents.js';

const [role, name, directory, log] = process.argv.slice(2);
const store = createDocumentFiles({ directory: () => directory, now: () => Date.now() });
const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');

function makeContent() {
  const body = Array.from({ length: Math.floor(Math.random() * 2000) }, () => `word${Math.floor(Math.random() * 1e6)}`);
  const text = body.join(' ');
  return Buffer.from(`${hash(text)}\n${text}`);
}

function isWhole(content) {
  const [sum, text = ''] = Buffer.from(content).toString('utf8').split('\n');
  return sum === hash(text);
}

const parent = process.ppid;
while (process.ppid === parent) {
  if (role === 'write') {
    const content = makeContent();
    const { path, version } = await store.write(`${name}/${Math.floor(Math.random() * 10)}`, content, {
      overwrite: true,
    });
    // One short append is atomic, also when the process is killed.
    appendFileSync(log, `${path} ${version} ${hash(content)}\n`);
  } else {
    for (const { path, version } of await store.list()) {
      const { content } = await store.read(path, version).catch((error) => {
        // Old versions expire; anything else is an error.
        if (error.code === 'not_found') return {};
        throw error;
      });
      if (content !== undefined && !isWhole(content)) appendFileSync(log, `torn ${path} ${version}\n`);
    }
    await store.search(`word${Math.floor(Math.random() * 1e6)}`);
  }
  await new Promise((resolve) => setImmediate(resolve));
}
