// Asks a tool host to load a module and describe its tools.

import { ToolError } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { formatDuration } from '../../core/text.js';
import type { ModuleFiles } from '../../core/tool.js';
import type { HostConnection } from './connection.js';

const TIMEOUT_MS = 10_000;
const HINT = 'only define tools while loading, and do the work in execute';

/** Throws `timeout` or `exec_failed` if the module does not load. */
export function describeOnHost(host: HostConnection, source: ModuleFiles): Promise<Json> {
  return new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer);
      host.remove(id);
      act();
    };
    const timer = setTimeout(() => {
      const message = `does not finish loading within ${formatDuration(TIMEOUT_MS)}`;
      settle(() => reject(new ToolError('timeout', message, { hint: HINT })));
      host.kill('a module did not finish loading');
    }, TIMEOUT_MS);
    const id = host.add({
      tool: source.file,
      onReply(reply) {
        if (reply.type === 'described') settle(() => resolve(reply.description));
      },
      onLost({ message }) {
        settle(() =>
          reject(new ToolError('exec_failed', `ends its process while loading (${message})`, { hint: HINT })),
        );
      },
    });
    host.send({ type: 'describe', id, source });
  });
}
