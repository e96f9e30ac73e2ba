// A program of a user whose types are checked: here against the sources, and by the package gate in each way to resolve modules.

import { z } from 'zod';
import { runAgentLoop } from '../../src/adapters/loop/index.js';
import {
  type CallOptions,
  createToolbox,
  defineTool,
  type ErrorCode,
  type Json,
  type Toolbox,
  type ToolDefinition,
  ToolError,
  type ToolInput,
  type ToolResult,
  type ToolResultOf,
} from '../../src/index.js';
import { createNodeToolbox } from '../../src/node.js';
import { createTestToolbox, expectOk } from '../../src/testing.js';

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same = <A, B>(_: Same<A, B>): void => {};

const count = defineTool({
  name: 'count',
  description: 'Count words.',
  inputSchema: z.object({ text: z.string(), min: z.number().default(1) }),
  outputSchema: z.object({ words: z.number() }),
  execute: ({ text, min }, { signal }) => ({ words: signal.aborted ? 0 : text.split(' ').length + min }),
});
const ping = defineTool({ name: 'ping', description: 'Answer.', execute: () => 'pong' });

export async function useTypes(name: string, client: never): Promise<void> {
  same<ToolInput<typeof count>, { text: string; min?: number | undefined }>(true);
  const toolbox = createToolbox({ tools: [count, ping] });

  const result = await toolbox.call('count', { text: 'a' });
  same<typeof result, ToolResultOf<typeof count>>(true);
  if (result.ok) same<typeof result.structured, { words: number }>(true);
  else same<typeof result.error.code, ErrorCode>(true);

  // @ts-expect-error: no such tool
  await toolbox.call('cuont', { text: 'a' });
  // @ts-expect-error: no such parameter
  await toolbox.call('count', { txt: 'a' });
  // @ts-expect-error: not a string
  await toolbox.call(count, { text: 1 });
  // @ts-expect-error: takes no parameters
  await toolbox.call(ping, { loud: true });
  // @ts-expect-error: not an option of a call
  await toolbox.call(ping, {}, { onPending: () => {} });
  // @ts-expect-error: not a field
  defineTool({ name: 'odd', description: 'D', destructve: true, execute: () => 1 });
  // @ts-expect-error: not a field
  createToolbox({ tools: [{ name: 'odd', description: 'D', readOnyl: true, execute: () => 1 }] });
  // @ts-expect-error: the result does not match the output schema
  defineTool({ name: 'odd', description: 'D', outputSchema: z.object({ a: z.number() }), execute: () => ({ a: '1' }) });

  const wide: Toolbox = toolbox;
  const plain = await wide.call(name, { anything: true });
  same<typeof plain, ToolResult>(true);
  if (plain.ok) same<typeof plain.structured, Json | undefined>(true);
  else throw new ToolError(plain.error.code, plain.error.message);
  const typed = await wide.call(count, { text: 'a' });
  same<typeof typed, ToolResultOf<typeof count>>(true);

  const ofFiles = createNodeToolbox({ tools: [count] });
  same<Awaited<ReturnType<typeof ofFiles.close>>, void>(true);
  await ofFiles.call('a-script', { anything: true });
  // @ts-expect-error: no such parameter
  await ofFiles.call('count', { txt: 'a' });

  const counted = expectOk(await createTestToolbox([count]).call('count', { text: 'a' }));
  same<typeof counted.structured, { words: number }>(true);

  const { terminal } = await runAgentLoop({ client, toolbox, model: 'm', messages: [] } as never);
  if (terminal !== undefined && !terminal.result.ok) same<typeof terminal.result.error.code, ErrorCode>(true);

  const option: keyof CallOptions = 'signal';
  const definitions: readonly ToolDefinition[] = [count, ping];
  await createToolbox({ tools: definitions }).call('any', { [option]: 1 });
}
