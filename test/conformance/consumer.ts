// The shared suite of a consumer: a door through which a model calls tools behaves like every other.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processesWith } from '../support/processes.js';
import { until } from '../support/server.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

export interface ConsumerTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

export interface ConsumerAnswer {
  readonly isError: boolean;
  /** All text of the answer. */
  readonly text: string;
  /** The code of a failure, where the door carries it. */
  readonly code?: string | undefined;
  readonly hint?: string | undefined;
}

/** A model's side of a door, connected to a trusted workspace. */
export interface ConnectedConsumer {
  list(): Promise<readonly ConsumerTool[]>;
  /** Rejects where the call was cancelled. */
  call(name: string, input: object, signal?: AbortSignal): Promise<ConsumerAnswer>;
}

export interface ConsumerCase {
  readonly name: string;
  connect(workspace: Workspace): Promise<ConnectedConsumer>;
}

const GREET = `#!/bin/sh
# @description Greet someone.
# @param *who string Whom to greet
# @param loud boolean Whether to shout
echo "Hello, $WIELD_PARAM_WHO"
`;
const saying = (text: string): string => `#!/bin/sh\n# @description Say it.\necho ${text}\n`;

export function describeConsumer({ name, connect }: ConsumerCase): void {
  const open = async (): Promise<{ workspace: Workspace; consumer: ConnectedConsumer }> => {
    const workspace = createWorkspace();
    workspace.script('greet', GREET);
    return { workspace, consumer: await connect(workspace) };
  };

  describe(`${name}, as every consumer`, () => {
    spec('SRV-1 SRV-2', 'lists a tool with name, description and schema', async () => {
      const { consumer } = await open();
      const tools = await consumer.list();
      expect(tools).toHaveLength(1);
      expect(tools[0]).toMatchObject({ name: 'greet', description: 'Greet someone.' });
      expect(tools[0]!.inputSchema).toEqual({
        type: 'object',
        properties: {
          who: { type: 'string', description: 'Whom to greet' },
          loud: { type: 'boolean', description: 'Whether to shout' },
        },
        required: ['who'],
      });
    });

    spec('SRV-1 SRV-3', 'calls it and gives its text', async () => {
      const { consumer } = await open();
      expect(await consumer.call('greet', { who: 'Ada' })).toMatchObject({
        isError: false,
        text: 'Hello, Ada\n',
      });
    });

    spec('SRV-3', 'bad input and an unknown tool are errors with code and hint', async () => {
      const { consumer } = await open();
      const bad = await consumer.call('greet', { loud: 3 });
      expect(bad).toMatchObject({ isError: true, code: 'invalid_input' });
      expect(bad.text).toContain('[invalid_input]');
      expect(bad.text).toContain(`hint: ${bad.hint}`);
      const unknown = await consumer.call('greeet', {});
      expect(unknown).toMatchObject({ isError: true, code: 'not_found' });
      expect(unknown.hint).toContain('greet');
      expect(unknown.text).toContain('greeet');
    });

    spec('SRV-3', 'a failing tool is an error with its output', async () => {
      const { workspace, consumer } = await open();
      workspace.script(
        'fail',
        '#!/bin/sh\n# @description Fail.\necho some output\necho the reason >&2\nexit 7\n',
      );
      const answer = await consumer.call('fail', {});
      expect(answer).toMatchObject({ isError: true, code: 'tool_failed' });
      for (const part of ['status 7', 'some output', 'the reason']) expect(answer.text).toContain(part);
    });

    spec('SRV-2', 'a hidden tool is neither listed nor callable', async () => {
      const { workspace, consumer } = await open();
      const sentinel = join(workspace.dir, 'ran');
      workspace.script('secret', `#!/bin/sh\n# @description Hide.\n# @hidden\ntouch ${sentinel}\n`);
      expect((await consumer.list()).map((tool) => tool.name)).toEqual(['greet']);
      const answer = await consumer.call('secret', {});
      expect(answer).toMatchObject({ isError: true, code: 'not_found' });
      expect(existsSync(sentinel)).toBe(false);
    });

    spec('SRV-2 SRV-4', 'new, edited and removed scripts are seen without a restart', async () => {
      const { workspace, consumer } = await open();
      const names = async () => (await consumer.list()).map((tool) => tool.name);
      const path = workspace.script('later', saying('one'));
      await expect.poll(names, { timeout: 10_000 }).toEqual(['greet', 'later']);
      expect((await consumer.call('later', {})).text).toBe('one\n');
      workspace.script('later', saying('another'));
      expect((await consumer.call('later', {})).text).toBe('another\n');
      rmSync(path);
      expect(await consumer.call('later', {})).toMatchObject({ isError: true, code: 'not_found' });
      // A client may believe its list for the few seconds it was given, or until it is told.
      await expect.poll(names, { timeout: 10_000 }).toEqual(['greet']);
    });

    spec('SRV-3', 'cancelling a call ends its tool', async () => {
      const { workspace, consumer } = await open();
      const started = join(workspace.dir, 'started');
      // The mark is part of the command line of the process that is to end.
      const mark = `${workspace.dir}/cancel-me`;
      workspace.script(
        'slow',
        `#!/bin/sh\n# @description Wait.\ntouch ${started}\nsh -c 'while :; do sleep 1; done' ${mark}\n`,
      );
      const controller = new AbortController();
      const call = consumer.call('slow', {}, controller.signal);
      const cancelled = expect(call).rejects.toThrow();
      await until(() => existsSync(started) && processesWith(mark).length > 0, 'the tool runs');
      controller.abort();
      await cancelled;
      await until(() => processesWith(mark).length === 0, 'the tool has ended');
      expect((await consumer.call('greet', { who: 'you' })).isError).toBe(false);
    });
  });
}
