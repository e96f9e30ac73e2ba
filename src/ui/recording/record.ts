// Records the calls of a toolbox, without secrets.

import type { EndEvent } from '../../core/event.js';
import type { Json } from '../../core/json.js';
import { findSensitiveValues, redactJson, redactOutput, redactValue } from '../../core/redact.js';
import type { Part, ToolResult } from '../../core/result.js';
import type { NodeToolbox } from '../../node.js';
import type { RecordedCall } from '../api.js';
import { type RecordedTool, toRecordedTool } from './recording.js';

/** Receives each tool before its first call, and each call at its end, nested calls before the outer one. */
export type RecordListener = (line: RecordedTool | RecordedCall) => void;

/** Records until the returned function is called. */
export function recordCalls(toolbox: NodeToolbox, listener: RecordListener): () => void {
  const known = new Set<string>();
  return toolbox.on((event) => {
    if (event.type !== 'end') return;
    const { tool } = event;
    const { secrets } = toolbox.state.snapshot();
    // Completing an argument of a prompt is a call of the same name with another input.
    const key = tool && `${tool.name} ${'properties' in tool.input.json}`;
    if (tool !== undefined && key !== undefined && !known.has(key)) {
      known.add(key);
      listener(redactValue(toRecordedTool(tool), secrets));
    }
    listener(toRecordedCall(event, secrets, toolbox.machine.world.now()));
  });
}

function toRecordedCall(event: EndEvent, known: readonly string[], now: number): RecordedCall {
  const { call, parent = null, ref, tool, caller, verdict, input = null, result } = event;
  const { kind, door, name } = caller;
  const secrets = [...known, ...findSensitiveValues(input), ...findSensitiveValues(result.structured)];
  return {
    type: 'call',
    call,
    parent,
    time: new Date(now).toISOString(),
    tool: tool?.name ?? ref,
    caller: { kind, door, name },
    input: toRecordedInput(input, known),
    verdict: verdict?.verdict ?? null,
    result: redactResult(result, secrets),
  };
}

/** Returns an input as a recording has it: a call is found again by it. */
export function toRecordedInput(input: Json, known: readonly string[]): Json {
  return redactJson(input, [...known, ...findSensitiveValues(input)], Number.POSITIVE_INFINITY);
}

function redactResult(result: ToolResult, secrets: readonly string[]): ToolResult {
  const { content, ...rest } = result;
  const clean = (value: unknown): Json => redactJson(value as Json, secrets, Number.POSITIVE_INFINITY);
  // Bytes of images and audio are kept.
  const cleanPart = (part: Part): unknown => {
    if (part.type !== 'image' && part.type !== 'audio') return clean(part);
    const { data, ...fields } = part;
    return { ...(clean(fields) as object), data };
  };
  // First as a whole: a secret may begin in one part and end in the next.
  const parts = redactOutput({ content }, secrets).content;
  return { ...(clean(rest) as object), content: parts.map(cleanPart) } as unknown as ToolResult;
}
