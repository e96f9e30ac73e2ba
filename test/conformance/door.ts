// The shared test suite of doors through which a model calls tools.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';
import { processesWith } from '../support/processes.js';
import { until } from '../support/server.js';
import { spec } from '../support/spec.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

export interface DoorTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

export interface DoorAnswer {
  readonly isError: boolean;
  /** All text of the result. */
  readonly text: string;
  /** The error code, if the door includes it. */
  readonly code?: string | undefined;
  readonly hint?: string | undefined;
}

/** A door as a model uses it, connected to a trusted workspace. */
export interface ConnectedDoor {
  list(): Promise<readonly DoorTool[]>;
  /** Rejects if the call was cancelled. */
  call(name: string, input: object, signal?: AbortSignal): Promise<DoorAnswer>;
}

export interface DoorCase {
  readonly name: string;
  connect(workspace: Workspace): Promise<ConnectedDoor>;
}

const GREET = `#!/bin/sh
# @description Greet someone.
# @param *who string Whom to greet
# @param loud boolean Whether to shout
echo "Hello, $WIELD_PARAM_WHO"
`;
const saying = (text: string): string => `#!/bin/sh\n# @description Say it.\necho ${text}\n`;

export function describeDoor({ name, connect }: DoorCase): void {
  const open = async (): Promise<{ workspace: Workspace; door: ConnectedDoor }> => {
    const workspace = createWorkspace();
    workspace.script('greet', GREET);
    return { workspace, door: await connect(workspace) };
  };

  describe(`${name}, like every door`, () => {
    spec('SRV-1 SRV-2', 'lists a tool with name, description and schema', async () => {
      const { door } = await open();
      const tools = await door.list();
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

    spec('SRV-1 SRV-3', 'calls a tool and returns its text', async () => {
      const { door } = await open();
      expect(await door.call('greet', { who: 'Ada' })).toMatchObject({
        isError: false,
        text: 'Hello, Ada\n',
      });
    });

    spec('SRV-3', 'reports invalid input and unknown tools with code and hint', async () => {
      const { door } = await open();
      const bad = await door.call('greet', { loud: 3 });
      expect(bad).toMatchObject({ isError: true, code: 'invalid_input' });
      expect(bad.text).toContain('[invalid_input]');
      expect(bad.text).toContain(`hint: ${bad.hint}`);
      const unknown = await door.call('greeet', {});
      expect(unknown).toMatchObject({ isError: true, code: 'not_found' });
      expect(unknown.hint).toContain('greet');
      expect(unknown.text).toContain('greeet');
    });

    spec('SRV-3', 'reports a failed tool with its output', async () => {
      const { workspace, door } = await open();
      workspace.script('fail', '#!/bin/sh\n# @description Fail.\necho some output\necho the reason >&2\nexit 7\n');
      const answer = await door.call('fail', {});
      expect(answer).toMatchObject({ isError: true, code: 'tool_failed' });
      for (const part of ['status 7', 'some output', 'the reason']) expect(answer.text).toContain(part);
    });

    spec('SRV-2', 'neither lists nor calls a hidden tool', async () => {
      const { workspace, door } = await open();
      const sentinel = join(workspace.dir, 'ran');
      workspace.script('secret', `#!/bin/sh\n# @description Hide.\n# @hidden\ntouch ${sentinel}\n`);
      expect((await door.list()).map((tool) => tool.name)).toEqual(['greet']);
      const answer = await door.call('secret', {});
      expect(answer).toMatchObject({ isError: true, code: 'not_found' });
      expect(existsSync(sentinel)).toBe(false);
    });

    spec('SRV-2 SRV-4', 'sees new, edited and removed scripts without a restart', async () => {
      const { workspace, door } = await open();
      const names = async () => (await door.list()).map((tool) => tool.name);
      const path = workspace.script('later', saying('one'));
      await expect.poll(names).toEqual(['greet', 'later']);
      expect((await door.call('later', {})).text).toBe('one\n');
      workspace.script('later', saying('another'));
      expect((await door.call('later', {})).text).toBe('another\n');
      rmSync(path);
      expect(await door.call('later', {})).toMatchObject({ isError: true, code: 'not_found' });
      // A client may cache its list for a few seconds, or until it is notified.
      await expect.poll(names).toEqual(['greet']);
    });

    spec('SRV-3', 'ends the tool of a cancelled call', async () => {
      const { workspace, door } = await open();
      const started = join(workspace.dir, 'started');
      // Part of the command line of the process that must end.
      const mark = `${workspace.dir}/cancel-me`;
      workspace.script(
        'slow',
        `#!/bin/sh\n# @description Wait.\ntouch ${started}\nsh -c 'while :; do sleep 1; done' ${mark}\n`,
      );
      const controller = new AbortController();
      const call = door.call('slow', {}, controller.signal);
      const cancelled = expect(call).rejects.toThrow();
      await until(() => existsSync(started) && processesWith(mark).length > 0, 'the tool runs');
      controller.abort();
      await cancelled;
      await until(() => processesWith(mark).length === 0, 'the tool has ended');
      expect((await door.call('greet', { who: 'you' })).isError).toBe(false);
    });
  });
}
