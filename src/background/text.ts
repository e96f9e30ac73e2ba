// Formats processes in the background for models.

import type { JsonObject } from '../core/json.js';
import { type Output, textPart } from '../core/result.js';
import { formatBytes } from '../core/text.js';
import type { OutputPart } from './output.js';
import type { BackgroundProcess } from './process.js';

export const READ_BACKGROUND = 'read_background';
export const STOP_BACKGROUND = 'stop_background';

/** Returns the result of the call that started a process, with its first output. */
export function describeStarted(process: BackgroundProcess, most: number): Output {
  const { id, tool, pid } = process.shown();
  const input = JSON.stringify({ id });
  return describe(process, process.read(undefined, Math.floor(most / 2)), [
    `${tool} runs in the background as ${id}, process ${pid}. It ends with this session.`,
    `Read more with: ${READ_BACKGROUND} ${input}`,
    `Stop it with: ${STOP_BACKGROUND} ${input}`,
  ]);
}

/** Returns a part of the output of a process, and its state. */
export function describeRead(process: BackgroundProcess, part: OutputPart): Output {
  const { id, tool, ended } = process.shown();
  return describe(process, part, [`${tool} (${id}) ${ended === undefined ? 'is running' : `has ended: ${ended}`}.`]);
}

/** Returns the processes of a session, one per line. */
export function describeList(processes: readonly BackgroundProcess[]): Output {
  const all = processes.map((process) => process.shown());
  const lines = all.map(
    ({ id, tool, pid, since, ended }) =>
      `${id}  ${tool}  process ${pid}, since ${since}, ${ended === undefined ? 'running' : `ended: ${ended}`}`,
  );
  return {
    content: [textPart(lines.length === 0 ? 'Nothing of this session runs in the background.' : lines.join('\n'))],
    structured: { processes: all.map(toFacts) },
  };
}

function describe(process: BackgroundProcess, part: OutputPart, head: readonly string[]): Output {
  const { text, from, next, end } = part;
  const fault = process.fault();
  const notes = [
    ...(part.isGap ? [`[output before byte ${from} is no longer kept]`] : []),
    text === '' ? '[no new output]' : text.replace(/\n$/, ''),
    ...(next < end ? [`[${formatBytes(end - next)} more: read again]`] : []),
    ...(fault === undefined ? [] : [`[output could not be stored: ${fault}]`]),
  ];
  return {
    content: [textPart([...head, ...notes].join('\n'))],
    structured: {
      ...toFacts(process.shown()),
      output: text,
      offset: from,
      next_offset: next,
      unread_bytes: end - next,
    },
  };
}

function toFacts({ id, tool, pid, since, ended }: ReturnType<BackgroundProcess['shown']>): JsonObject {
  return { id, tool, pid, since, status: ended === undefined ? 'running' : 'ended', ...(ended && { reason: ended }) };
}
