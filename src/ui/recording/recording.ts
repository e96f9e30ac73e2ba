// A recording: calls with input and result, and the definitions of their tools, one JSON document per line.

import { ERROR_CODES, ToolError } from '../../core/error.js';
import { isRecord, type Json, type JsonObject } from '../../core/json.js';
import { findPartFault } from '../../core/result.js';
import type { Tool } from '../../core/tool.js';
import type { RecordedCall } from '../api.js';

/** The definition of a recorded tool. */
export interface RecordedTool {
  readonly type: 'tool';
  readonly name: string;
  readonly description: string;
  readonly input: JsonObject;
  readonly output?: JsonObject;
}

export interface Recording {
  readonly tools: readonly RecordedTool[];
  readonly calls: readonly RecordedCall[];
}

/** The first line of a file. */
export const HEAD = { type: 'recording', version: 1 } as const;

export function toRecordedTool({ name, description, input, output }: Tool): RecordedTool {
  return {
    type: 'tool',
    name,
    description,
    input: input.json,
    ...(output === undefined ? {} : { output: output.json }),
  };
}

export function formatRecording({ tools, calls }: Recording): string {
  return [HEAD, ...tools, ...calls].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Parses the text of a file. Throws `invalid_definition` with the line. */
export function parseRecording(text: string, file: string): Recording {
  const tools: RecordedTool[] = [];
  const calls: RecordedCall[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line === '') continue;
    const value = parseLine(line);
    if (at === 0 ? !isHead(value) : !isTool(value) && !isCall(value)) throw invalidLine(file, at + 1);
    if (isTool(value)) tools.push(value);
    else if (isCall(value)) calls.push(value);
  }
  if (text.trim() === '') throw invalidLine(file, 1);
  return { tools, calls };
}

function parseLine(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

function isHead(value: unknown): boolean {
  return isRecord(value) && value.type === HEAD.type && value.version === HEAD.version;
}

function isTool(value: unknown): value is RecordedTool {
  if (!isRecord(value) || value.type !== 'tool') return false;
  return typeof value.name === 'string' && typeof value.description === 'string' && isRecord(value.input);
}

function isCall(value: unknown): value is RecordedCall {
  if (!isRecord(value) || value.type !== 'call') return false;
  const { call, tool, input, result } = value;
  return [call, tool].every((text) => typeof text === 'string') && input !== undefined && isResult(result);
}

// A file may be of someone else, and parts of it become code (UI-24).
function isResult(value: unknown): boolean {
  if (!isRecord(value) || !Array.isArray(value.content) || !isRecord(value.meta)) return false;
  const { ok, error, content } = value;
  return findPartFault(content) === undefined && (ok === true ? error === undefined : ok === false && isError(error));
}

function isError(value: unknown): boolean {
  if (!isRecord(value) || typeof value.message !== 'string' || typeof value.code !== 'string') return false;
  return Object.hasOwn(ERROR_CODES, value.code);
}

function invalidLine(file: string, line: number): ToolError {
  return new ToolError('invalid_definition', `${file}:${line} is not a line of a recording`, {
    hint: 'make one: wield record FILE',
  });
}
