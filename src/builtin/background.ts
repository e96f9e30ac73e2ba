// The built-in tools `read_background` and `stop_background`, for processes that go on after their call (BGR).

import type { BackgroundProcess } from '../background/process.js';
import type { BackgroundProcesses } from '../background/processes.js';
import { describeList, describeRead, READ_BACKGROUND, STOP_BACKGROUND } from '../background/text.js';
import type { Caller } from '../core/caller.js';
import { ToolError } from '../core/error.js';
import { quoteOutside } from '../core/text.js';
import type { Tool } from '../core/tool.js';
import { defineBuiltin } from '../formats/module/builtin.js';

interface Asked {
  readonly id?: string;
  readonly offset?: number;
  readonly wait?: number;
}

const ID = { type: 'string', description: 'b_…' } as const;
const MAX_WAIT = 60;

/** Whether a built-in tool is one of these. */
export function isBackgroundTool({ name }: Pick<Tool, 'name'>): boolean {
  return name === READ_BACKGROUND || name === STOP_BACKGROUND;
}

export function createBackgroundTools(background: BackgroundProcesses): Tool[] {
  return [
    defineBuiltin<Asked>({
      name: READ_BACKGROUND,
      description: 'Read new output of a process in the background, or list those of this session.',
      inputSchema: {
        type: 'object',
        properties: {
          id: { ...ID, description: 'b_…; without it they are listed' },
          offset: { type: 'integer', minimum: 0, description: 'First byte; by default what was not read yet' },
          wait: { type: 'integer', minimum: 0, maximum: MAX_WAIT, description: 'Seconds to wait for new output' },
        },
      },
      traits: { readOnly: true },
      async run({ id, offset, wait = 0 }, { signal }, { caller, snapshot }) {
        if (id === undefined) return describeList(background.list(caller.session));
        const process = find(background, id, caller);
        if (wait > 0) await process.wait(wait * 1000, signal);
        return describeRead(process, process.read(offset, snapshot.settings.results.inline / 2));
      },
    }),
    defineBuiltin<{ readonly id: string }>({
      name: STOP_BACKGROUND,
      description: 'Stop a process in the background, with everything that it started.',
      inputSchema: { type: 'object', properties: { id: ID }, required: ['id'] },
      traits: { idempotent: true },
      async run({ id }, _context, { caller, snapshot }) {
        const process = find(background, id, caller);
        await process.stop('stopped by its caller');
        return describeRead(process, process.read(undefined, snapshot.settings.results.inline / 2));
      },
    }),
  ];
}

// BGR-2: for another session it does not exist.
function find(background: BackgroundProcesses, id: string, { session }: Caller): BackgroundProcess {
  const found = background.find(id, session);
  if (found !== undefined) return found;
  const own = background.list(session).map((process) => process.shown().id);
  throw new ToolError('not_found', `no process of this session in the background: ${quoteOutside(id, 60)}`, {
    hint: own.length === 0 ? 'none was started in this session' : `there are ${own.join(', ')}`,
  });
}
