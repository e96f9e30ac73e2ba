// A result store in memory, for tests.

import { describeContent } from '../../src/context/store/describe-content.js';
import { ToolError } from '../../src/core/error.js';
import type { Handle, ResultStore } from '../../src/core/store.js';
import { loadCrypto } from '../../src/files/digest.js';

export function createResultMemory(): ResultStore {
  const results = new Map<string, { session: string; handle: Handle; bytes: Buffer }>();
  return {
    create(session) {
      const id = `r_${loadCrypto().randomBytes(16).toString('base64url')}`;
      const chunks: Buffer[] = [];
      let ended = false;
      return {
        write(chunk) {
          if (ended) throw new ToolError('internal', 'write after the end of a result');
          chunks.push(Buffer.from(chunk));
        },
        finish() {
          ended = true;
          const bytes = Buffer.concat(chunks);
          const handle: Handle = { id, size: bytes.length, ...describeContent(bytes) };
          results.set(id, { session, handle, bytes });
          return { handle, sha256: loadCrypto().createHash('sha256').update(bytes).digest('hex') };
        },
        discard() {
          ended = true;
        },
      };
    },
    open(id, session) {
      const found = results.get(id);
      if (found === undefined || found.session !== session) return undefined;
      const { handle, bytes } = found;
      return {
        handle,
        size: bytes.length,
        read: (offset, length) => bytes.subarray(offset, offset + length),
        close: () => {},
      };
    },
    clean: () => ({ results: 0, bytes: 0 }),
  };
}
