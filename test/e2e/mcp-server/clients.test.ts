// Real clients against the built server: both generations of the SDK, the inspector and mcporter.

import { spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Progress } from '@modelcontextprotocol/client';
import { describe, expect } from 'vitest';
import { binary } from '../../support/built.js';
import type { CliRun } from '../../support/cli.js';
import { connectHttp, connectProcess, connectUrl, type ProtocolVersion } from '../../support/clients.js';
import { ALL_TESTS } from '../../support/effort.js';
import { sleep } from '../../support/processes.js';
import { serveHttp, until } from '../../support/server.js';
import { share } from '../../support/share.js';
import { spec, testThorough } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

const GREET = `#!/bin/sh
# @description Greet someone.
# @param *who string Whom
echo "Hello, $WIELD_PARAM_WHO"
`;
const FAIL = '#!/bin/sh\n# @description Fail.\necho why not >&2\nexit 3\n';
// Each step waits for its acknowledgement, since this client drops progress that arrives together with the result.
const STEPS = `#!/bin/sh
# @description Work in steps.
for step in 1 2 3; do
  echo "::progress $step/3 step $step" >&2
  until test -e "seen-$step"; do sleep 0.02; done
done
echo done
`;
const saying = (text: string): string => `#!/bin/sh\n# @description Say it.\necho ${text}\n`;

function runProgram(workspace: Workspace, program: string, args: readonly string[]): Promise<CliRun> {
  const path = fileURLToPath(new URL(`../../../node_modules/.bin/${program}`, import.meta.url));
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      cwd: workspace.dir,
      env: workspace.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => {
      output.stdout += chunk.toString('utf8');
    });
    child.stderr.on('data', (chunk: Buffer) => {
      output.stderr += chunk.toString('utf8');
    });
    child.once('error', reject);
    child.once('close', (status) => resolve({ status, ...output }));
  });
}

function createTools(): Workspace {
  const workspace = createWorkspace();
  workspace.script('greet', GREET);
  workspace.script('fail', FAIL);
  workspace.script('steps', STEPS);
  return workspace;
}

const PROTOCOL_VERSIONS: readonly ProtocolVersion[] = ['older', 'newer'];
const DOORS = [
  ['stdio', connectProcess],
  ['HTTP', connectHttp],
] as const;

for (const protocol of PROTOCOL_VERSIONS) {
  for (const [door, connect] of DOORS) {
    // Two of four combinations.
    if (!ALL_TESTS && (protocol === 'older') !== (door === 'stdio')) continue;
    describe(`the SDK's client over ${door}, ${protocol} protocol version`, () => {
      const shared = share(async () => {
        const workspace = createTools();
        return { workspace, client: await connect(workspace, protocol) };
      });

      spec('SRV-1', 'negotiates that protocol version', () => {
        const { client } = shared();
        expect(client.getProtocolEra()).toBe(protocol === 'newer' ? 'modern' : 'legacy');
        expect(client.getServerVersion()).toMatchObject({ name: 'wield' });
        expect(client.getServerCapabilities()).toMatchObject({ tools: { listChanged: true } });
      });

      spec('SRV-3', 'receives increasing progress', async () => {
        const { client, workspace } = shared();
        const steps: Progress[] = [];
        const result = await client.callTool(
          { name: 'steps', arguments: {} },
          {
            onprogress: (progress) => {
              steps.push(progress);
              workspace.write(`seen-${progress.progress}`, '');
            },
          },
        );
        expect(result.content).toEqual([{ type: 'text', text: 'done\n' }]);
        expect(steps.map(({ progress, total, message }) => [progress, total, message])).toEqual([
          [1, 3, 'step 1'],
          [2, 3, 'step 2'],
          [3, 3, 'step 3'],
        ]);
      });

      spec('SRV-4', 'is notified of new, edited and removed tools', async () => {
        const workspace = createTools();
        let notified = 0;
        const client = await connect(workspace, protocol, ['--trust'], () => {
          notified++;
        });
        const describeLater = async (): Promise<string | undefined> =>
          (await client.listTools()).tools.find((tool) => tool.name === 'later')?.description;
        expect(await describeLater()).toBeUndefined();
        const change = async (act: () => void): Promise<void> => {
          const before = notified;
          act();
          await until(() => notified > before, 'the client was notified');
        };
        await change(() => workspace.script('later', saying('one')));
        expect(await describeLater()).toBe('Say it.');
        await change(() => workspace.script('later', saying('two').replace('Say it', 'Say two')));
        expect(await describeLater()).toBe('Say two.');
        await change(() => rmSync(`${workspace.dir}/.agents/tools/later`));
        expect(await describeLater()).toBeUndefined();
      });
    });
  }
}

describe('several clients of one server', () => {
  spec.thorough('SRV-4', 'all are notified, even if one lists right after a change', async () => {
    const workspace = createTools();
    for (let round = 0; round < 5; round++) workspace.script(`later${round}`, saying('it'));
    // Recently changed files are read again each time, which would hide the problem.
    await sleep(2500);
    const { url } = await serveHttp(workspace);
    let notified = 0;
    const listener = await connectUrl(url, 'older', () => {
      notified++;
    });
    await listener.listTools();
    // Clients of the newer version may use a listing for some seconds.
    const other = await connectUrl(url, 'older');
    for (let round = 0; round < 5; round++) {
      const before = notified;
      rmSync(`${workspace.dir}/.agents/tools/later${round}`);
      expect((await other.listTools()).tools.map((tool) => tool.name)).not.toContain(`later${round}`);
      await until(() => notified > before, `the listener was notified in round ${round}`);
    }
  });
});

describe('the MCP inspector', () => {
  const inspect = (workspace: Workspace, ...args: string[]) =>
    runProgram(workspace, 'mcp-inspector', ['--cli', process.execPath, binary(), 'serve', '--trust', ...args]);

  spec.thorough('SRV-1', 'lists and calls tools, and reports a failed one as an error', async () => {
    const workspace = createTools();
    const listed = JSON.parse((await inspect(workspace, '--method', 'tools/list')).stdout);
    expect(listed.tools.map((tool: { name: string }) => tool.name)).toEqual([
      'fail',
      'greet',
      'steps',
      'query_result',
      'read_result',
    ]);
    const called = await inspect(
      workspace,
      ...['--method', 'tools/call', '--tool-name', 'greet', '--tool-arg', 'who=Ada'],
    );
    expect(JSON.parse(called.stdout).content).toEqual([{ type: 'text', text: 'Hello, Ada\n' }]);
    const failed = await inspect(workspace, '--method', 'tools/call', '--tool-name', 'fail');
    expect(JSON.parse(failed.stdout)).toMatchObject({
      isError: true,
      _meta: { 'wield/error': { code: 'tool_failed' } },
    });
  });
});

describe('mcporter', () => {
  const command = `${process.execPath} ${binary()} serve --trust`;

  spec.thorough('SRV-1', 'lists and calls tools', async () => {
    const workspace = createTools();
    const listed = await runProgram(workspace, 'mcporter', ['list', '--stdio', command, '--json']);
    expect(JSON.parse(listed.stdout).tools.map((tool: { name: string }) => tool.name)).toEqual([
      'fail',
      'greet',
      'steps',
      'query_result',
      'read_result',
    ]);
    const called = await runProgram(workspace, 'mcporter', ['call', '--stdio', command, 'greet', 'who=Ada']);
    expect(called.stdout.trim()).toBe('Hello, Ada');
  });

  testThorough('shows the error of a failed tool', async () => {
    const workspace = createTools();
    const failed = await runProgram(workspace, 'mcporter', [
      ...['call', '--stdio', command, 'fail', '--output', 'json'],
    ]);
    expect(`${failed.stdout}${failed.stderr}`).toContain('why not');
    expect(`${failed.stdout}${failed.stderr}`).toContain('tool_failed');
  });
});
