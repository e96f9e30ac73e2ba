// Answers calls, prompts and resources from a recording, without running anything.

import { ToolError } from '../../core/error.js';
import { canonicalJson, isRecord, type Json, type JsonObject } from '../../core/json.js';
import { isToolName } from '../../core/name.js';
import { toPromptName, toResourceName } from '../../core/resource.js';
import type { Output, ToolResult } from '../../core/result.js';
import { fillDefaults } from '../../core/schema.js';
import type { NodeToolbox } from '../../node.js';
import { createToolbox, type ToolboxOptions } from '../../toolbox.js';
import { toRecordedInput } from './record.js';
import type { RecordedTool, Recording } from './recording.js';

/** Replaces tools, prompts and resources of a toolbox by those of a recording. */
export function createReplay(toolbox: NodeToolbox, recording: Recording): NodeToolbox {
  const answers = new Map<string, ToolResult[]>();
  const recorded = new Map(recording.tools.map((tool) => [tool.name, tool]));
  // With defaults: whether the input of a call has them depends on what runs its tool.
  const keyOf = (tool: string, input: Json): string => {
    const filled = fillDefaults(input, recorded.get(tool)?.input ?? {});
    return `${tool} ${canonicalJson(toRecordedInput(filled, toolbox.state.snapshot().secrets))}`;
  };
  for (const { tool, input, result } of recording.calls) {
    const key = keyOf(tool, input);
    answers.set(key, [...(answers.get(key) ?? []), result]);
  }
  const answer = (tool: string, input: unknown): Output => {
    const left = answers.get(keyOf(tool, input as Json));
    if (left === undefined) throw notRecorded(tool);
    // The same call again gets the next answer, and the last one from then on.
    const { content, structured, error } = left.length > 1 ? left.shift()! : left[0]!;
    return { content, structured, error: error && new ToolError(error.code, error.message, error) };
  };
  const tools = [...recorded.values()]
    .filter(({ name }) => isToolName(name))
    .map(({ name, description, input, group, positional }) => ({
      name,
      description,
      group,
      cli: { positional },
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

function notRecorded(tool: string): ToolError {
  return new ToolError('not_found', `${tool} was not called with this input in the recording`, {
    hint: 'call it as recorded, or record it: wield record FILE',
  });
}

type Offers = Required<Pick<ToolboxOptions, 'prompts' | 'resources'>>;
type Messages = Exclude<Awaited<ReturnType<Offers['prompts'][number]['get']>>, string>;

/** Returns the prompts and resources among recorded tools; `answer` returns what a call of one returned. */
function toReplayedOffers(tools: readonly RecordedTool[], answer: (tool: string, input: unknown) => Output): Offers {
  const read = (tool: string, input: unknown): Output => {
    const output = answer(tool, input);
    if (output.error !== undefined) throw output.error;
    return output;
  };
  // Those without declared arguments complete a prompt.
  const prompts = findNamed(tools, toPromptName('')).filter(
    ([name, { input }]) => /^[\w.-]{1,128}$/.test(name) && isRecord(input.properties),
  );
  const resources = findNamed(tools, toResourceName('')).filter(([uri]) => /^[A-Za-z][\w+.-]*:[^{]*$/.test(uri));
  return {
    prompts: prompts.map(([name, { name: tool, description, input }]) => ({
      name,
      description: description || name,
      arguments: toArguments(input),
      get: (given) => messagesOf(read(tool, given)),
    })),
    resources: resources.map(([uri, { name: tool, description }]) => ({
      uri,
      name: uri,
      description,
      read: () =>
        read(tool, {}).content.flatMap((part) =>
          part.type === 'resource' ? [part.resource as unknown as JsonObject] : [],
        ),
    })),
  };
}

// By what follows the prefix of their names, each once; definitions with arguments before others.
function findNamed(tools: readonly RecordedTool[], prefix: string): [string, RecordedTool][] {
  const named = tools.filter(({ name }) => name.startsWith(prefix));
  const declares = ({ input }: RecordedTool): boolean => isRecord(input.properties);
  const ordered = [...named.filter((tool) => !declares(tool)), ...named.filter(declares)];
  return [...new Map(ordered.map((tool) => [tool.name.slice(prefix.length), tool]))];
}

function toArguments({ properties, required }: JsonObject): { name: string; required: boolean }[] {
  const needed = Array.isArray(required) ? required : [];
  return Object.keys(isRecord(properties) ? properties : {}).map((name) => ({
    name,
    required: needed.includes(name),
  }));
}

function messagesOf({ structured }: Output): Messages {
  const messages = isRecord(structured) ? structured.messages : undefined;
  return (Array.isArray(messages) ? messages : []) as Messages;
}
