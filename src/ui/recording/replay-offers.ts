// Prompts and resources of a recording, answered from it.

import { isRecord, type JsonObject } from '../../core/json.js';
import { toPromptName, toResourceName } from '../../core/resource.js';
import type { Output } from '../../core/result.js';
import type { ToolboxOptions } from '../../toolbox.js';
import type { RecordedTool } from './recording.js';

type Offers = Required<Pick<ToolboxOptions, 'prompts' | 'resources'>>;
type Messages = Exclude<Awaited<ReturnType<Offers['prompts'][number]['get']>>, string>;

/** Returns the prompts and resources among recorded tools; `answer` returns what a call of one returned. */
export function toReplayedOffers(
  tools: readonly RecordedTool[],
  answer: (tool: string, input: unknown) => Output,
): Offers {
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
