// A recording: calls with input and result, and the definitions of their tools, one JSON document per line.

import { ERROR_CODES, orNothing, ToolError } from '../../core/error.js';
import { isRecord, type JsonObject } from '../../core/json.js';
import { PARTS } from '../../core/result.js';
import {
  anything,
  boolean,
  checked,
  formatFault,
  object,
  oneOf,
  optional,
  readShape,
  string,
  strings,
  table,
  when,
} from '../../core/shape.js';
import type { Tool } from '../../core/tool.js';
import { refuseNewer } from '../../files/state.js';
import type { RecordedCall } from '../api.js';

/** The definition of a recorded tool. */
export interface RecordedTool {
  readonly type: 'tool';
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output?: JsonObject;
  /** What its command line depends on, besides the name. */
  readonly group?: string;
  readonly positional?: readonly string[];
}

export interface Recording {
  readonly tools: readonly RecordedTool[];
  readonly calls: readonly RecordedCall[];
}

/** The first line of a file. */
export const HEAD = { type: 'recording', version: 1 } as const;

export function toRecordedTool({ name, description, input, output, traits }: Tool): RecordedTool {
  const { group, positional } = traits;
  return {
    type: 'tool',
    name,
    description,
    input: input.json,
    output: output?.json,
    group,
    positional,
  };
}

export function formatRecording({ tools, calls }: Recording): string {
  return [HEAD, ...tools, ...calls].map((line) => `${JSON.stringify(line)}\n`).join('');
}

const KEEP = { unknown: 'keep' } as const;
const HEAD_LINE = object({ type: oneOf(HEAD.type), version: oneOf(HEAD.version) }, KEEP);
const TOOL = object(
  {
    type: oneOf('tool'),
    name: string,
    description: string,
    input: table,
    group: optional(string),
    positional: optional(strings),
  },
  KEEP,
);
const ERROR = object({ code: oneOf(...Object.keys(ERROR_CODES)), message: string }, KEEP);
// A file may be of someone else, and parts of it become code (UI-24).
const RESULT = checked(
  object({ ok: boolean, content: PARTS, meta: table, error: optional(ERROR) }, KEEP),
  ({ ok, error }, fail) => {
    if (ok !== (error === undefined)) fail(['error'], ok ? 'must be missing' : 'is missing');
  },
  when({ properties: { ok: { const: true } } }, { properties: { error: false } }, { required: ['error'] }),
);
const CALL = object({ type: oneOf('call'), call: string, tool: string, input: anything, result: RESULT }, KEEP);
/** The lines of a file. */
export const LINES = { head: HEAD_LINE, tool: TOOL, call: CALL };

/** Parses the text of a file. Throws `invalid_definition` with the line, `unavailable` for a file of a newer version. */
export function parseRecording(text: string, file: string): Recording {
  const tools: RecordedTool[] = [];
  const calls: RecordedCall[] = [];
  for (const [at, line] of text.trim().split('\n').entries()) {
    if (line === '' && at > 0) continue;
    const value = orNothing(() => JSON.parse(line) as unknown);
    if (at === 0) refuseNewer(value, file, HEAD.version);
    const shape = at === 0 ? HEAD_LINE : isRecord(value) && value.type === 'tool' ? TOOL : CALL;
    const [fault] = readShape<unknown>(shape, value).faults;
    if (fault !== undefined)
      throw new ToolError(
        'invalid_definition',
        `${file}:${at + 1} is not a line of a recording: ${formatFault(fault)}`,
        {
          hint: 'make one: wield record FILE',
        },
      );
    if (shape === TOOL) tools.push(value as RecordedTool);
    else if (shape === CALL) calls.push(value as RecordedCall);
  }
  return { tools, calls };
}
