// Answers calls from a recording: a toolbox of the recorded tools, which runs nothing (UI-14).

import { ToolError } from '../../core/error.js';
import { canonicalJson, type Json } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import type { Output, ToolResult } from '../../core/result.js';
import type { NodeToolbox } from '../../node.js';
import { createToolbox } from '../../toolbox.js';
import { toRecordedInput } from './record.js';
import type { Recording } from './recording.js';
import { toReplayedOffers } from './replay-offers.js';

/** Replaces tools, prompts and resources of a toolbox by those of a recording. */
export function createReplay(toolbox: NodeToolbox, recording: Recording): NodeToolbox {
  const answers = new Map<string, ToolResult[]>();
  const secrets = (): readonly string[] => toolbox.state.snapshot().secrets;
  for (const { tool, input, result } of recording.calls) {
    const key = keyOf(tool, input);
    answers.set(key, [...(answers.get(key) ?? []), result]);
  }
  const answer = (tool: string, input: unknown): Output => {
    const left = answers.get(keyOf(tool, toRecordedInput(input as Json, secrets())));
    if (left === undefined) throw notRecorded(tool);
    // The same call again gets the next answer, and the last one from then on.
    const { content, structured, error } = left.length > 1 ? left.shift()! : left[0]!;
    return { content, structured, error: error && new ToolError(error.code, error.message, error) };
  };
  const recorded = [...new Map(recording.tools.map((tool) => [tool.name, tool])).values()];
  const tools = recorded
    .filter(({ name }) => isToolName(name))
    .map(({ name, description, input }) => ({
      name,
      description,
      inputSchema: input,
      execute: (given: unknown) => answer(name, given),
    }));
  const offers = toReplayedOffers(recording.tools, answer);
  const { machine, state, close } = toolbox;
  const replay = createToolbox({ tools, ...offers, workdir: toolbox.workspace.workdir });
  return {
    ...replay,
    machine,
    state,
    async close() {
      await replay.close();
      await close();
    },
  };
}

function keyOf(tool: string, input: Json): string {
  return `${tool} ${canonicalJson(input)}`;
}

function notRecorded(tool: string): ToolError {
  return new ToolError('not_found', `${tool} was not called with this input in the recording`, {
    hint: 'call it as recorded, or record it: wield record FILE',
  });
}
