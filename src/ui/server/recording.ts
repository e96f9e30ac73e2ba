// Records the calls of this process for the page, and saves them as cases.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { writeFileAtomic } from '../../files/write.js';
import type { NodeToolbox } from '../../node.js';
import type { RecordedCall } from '../api.js';
import { exportCall } from '../recording/export.js';
import { recordCalls } from '../recording/record.js';
import { formatRecording, type RecordedTool } from '../recording/recording.js';
import type { Handlers } from './route.js';

const MAX_CALLS = 200;

export type SessionRecording = ReturnType<typeof createSessionRecording>;

/** Records the newest calls of this process. */
export function createSessionRecording(toolbox: NodeToolbox) {
  const tools = new Map<string, RecordedTool>();
  const calls = new Map<string, RecordedCall>();
  const close = recordCalls(toolbox, (line) => {
    if (line.type === 'tool') tools.set(line.name, line);
    else calls.set(line.call, line);
    if (calls.size > MAX_CALLS) calls.delete(calls.keys().next().value!);
  });
  return {
    list: () => [...calls.values()],
    has: (call: string) => calls.has(call),
    /** Throws `not_found`. */
    find(id: string) {
      const call = calls.get(id);
      if (call !== undefined) return { call, tool: tools.get(call.tool) };
      throw new ToolError('not_found', `no recorded call ${quoteOutside(id, 40)}`, { hint: 'reload the page' });
    },
    close,
  };
}

interface RecordingParts {
  readonly toolbox: NodeToolbox;
  readonly recording: SessionRecording;
}

export function createRecordingRoutes({ toolbox, recording }: RecordingParts) {
  return {
    'GET /api/recording': async () => ({ calls: recording.list() }),
    'GET /api/recording/:call/export': async ({ params }) => exportCall(recording.find(params.call!).call),
    'POST /api/cases': async ({ body: { call, name } }) => {
      const found = recording.find(call);
      // UI-16: the name cannot contain a path; the schema of the request says so.
      const file = join(toolbox.machine.wieldHome, 'cases', `${name}.ndjson`);
      if (existsSync(file)) throw new ToolError('conflict', `there is a case ${name}`, { hint: 'choose another name' });
      const tools = found.tool === undefined ? [] : [found.tool];
      writeFileAtomic(file, formatRecording({ tools, calls: [found.call] }), { keepExisting: true });
      return { name, file };
    },
  } satisfies Partial<Handlers>;
}
