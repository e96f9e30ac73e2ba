// Tests of servers behind package runners: their first start takes long, and is not interrupted.

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { startFirst } from '../../../src/process/first-start.js';
import { binary } from '../../support/built.js';
import { createIo, json, runCommand, wield } from '../../support/cli.js';
import { connectHttp } from '../../support/clients.js';
import { NO_PROC } from '../../support/machine.js';
import { createRunnerWorkspace, type RunnerWorkspace } from '../../support/package-runner.js';
import { openPage } from '../../support/page.js';
import { sleep } from '../../support/processes.js';
import { hasPty, NO_PTY, wieldAtTerminal } from '../../support/pty.js';
import { hasBubblewrap, NO_BUBBLEWRAP } from '../../support/sandbox-attempts.js';
import { serveHere } from '../../support/serve.js';
import { until } from '../../support/server.js';
import { spec, specIf } from '../../support/spec.js';
import { configureServers, countedServer } from '../../support/upstream-servers.js';
import { isAlive } from '../../support/upstream-workspace.js';
import { createWorkspace } from '../../support/workspace.js';

const SERVER = fileURLToPath(new URL('../../support/upstream-server.mjs', import.meta.url));

const stateOf = async (workspace: RunnerWorkspace) => json(await wield(workspace, ['mcp', '--json'])).servers[0];

// Returns the process of the runner.
async function begun(workspace: RunnerWorkspace): Promise<number> {
  await until(() => workspace.runs().length > 0, 'the installation has begun');
  return workspace.runs()[0]!;
}

describe.concurrent('the first start of a package runner', () => {
  spec('UPS-112 UPS-115', 'goes on when the command ends, and the next commands wait for the same one', async () => {
    const workspace = createRunnerWorkspace();
    const first = await wield(workspace, ['list']);
    expect(first).toMatchObject({ status: 0, stdout: 'No tools are known yet: 1 server did not answer.\n' });
    expect(first.stderr).toContain('starting  the server files is still starting: npx installs it');
    const installer = await begun(workspace);
    expect(isAlive(installer!)).toBe(true);
    expect(await stateOf(workspace)).toMatchObject({ state: 'starting', runner: 'npx' });
    expect((await wield(workspace, ['mcp'])).stdout).toContain('npx installs it');
    expect(json(await wield(workspace, ['list', '--json'])).unanswered).toEqual([
      {
        name: 'files',
        state: 'starting',
        message: expect.stringContaining('npx installs it'),
        hint: expect.any(String),
      },
    ]);
    expect(workspace.runs()).toEqual([installer]);
    workspace.install();
    await until(() => workspace.starts().length > 0 && !isAlive(workspace.starts()[0]!), 'it has answered and ended');
    expect(workspace.isBroken()).toBe(false);
    workspace.config('[limits]\nlisting = "30s"\n');
    const last = await wield(workspace, ['list']);
    expect(last.stdout).toContain('files_echo');
    expect(last.stderr).toBe('');
    expect(await stateOf(workspace)).toMatchObject({ state: 'listed' });
  });

  spec('UPS-112', 'is waited for by a command that has the time, which then has its tools', async () => {
    const workspace = createRunnerWorkspace();
    await wield(workspace, ['list']);
    await begun(workspace);
    workspace.config('[limits]\nlisting = "30s"\n');
    const listing = wield(workspace, ['list']);
    const calling = wield(workspace, ['call', 'files_echo', '--text', 'hello']);
    await sleep(300);
    expect(workspace.runs()).toHaveLength(1);
    workspace.install();
    expect((await listing).stdout).toContain('files_echo');
    expect(await calling).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(workspace.isBroken()).toBe(false);
  });

  spec('UPS-112', 'goes on if wield is killed', async () => {
    const workspace = createRunnerWorkspace({ listing: '30s' });
    const { dir: cwd, env } = workspace;
    const child = spawn(process.execPath, [binary(), 'list'], { cwd, env, stdio: 'ignore' });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    await begun(workspace);
    child.kill('SIGKILL');
    await ended;
    await sleep(300);
    expect(isAlive(workspace.runs()[0]!)).toBe(true);
    workspace.install();
    await until(() => workspace.starts().length > 0 && !isAlive(workspace.starts()[0]!), 'it has answered and ended');
    expect(workspace.isBroken()).toBe(false);
  });

  spec('UPS-112 UPS-15', 'goes on after an interrupt', async () => {
    const workspace = createRunnerWorkspace({ listing: '30s' });
    const { io, signal, stderr } = createIo(workspace);
    const running = runCommand(['mcp', 'refresh', 'files'], io);
    await begun(workspace);
    signal('SIGINT');
    expect(await running).toBe(130);
    expect(stderr()).toContain('files: the installation goes on in the background; wield mcp shows it');
    expect(isAlive(workspace.runs()[0]!)).toBe(true);
    workspace.install();
    await until(() => !isAlive(workspace.runs()[0]!), 'it ends');
    expect(workspace.isBroken()).toBe(false);
    // Nobody saw its tools.
    expect(await stateOf(workspace)).toMatchObject({ state: 'unknown' });
  });

  spec('UPS-112', 'has the longer time limit, unless its entry has one, and goes on after that', async () => {
    const workspace = createRunnerWorkspace({ more: { startTimeout: '300ms' } });
    const failed = await wield(workspace, ['mcp', 'refresh', 'files']);
    expect(failed.status).toBe(8);
    expect(failed.stderr).toContain('did not respond within 300 ms of starting');
    expect(failed.stderr).toContain('npx may still be installing it');
    await begun(workspace);
    expect(await stateOf(workspace)).toMatchObject({ state: 'starting' });
    workspace.install();
    await until(() => !isAlive(workspace.runs()[0]!), 'it ends');
    expect(workspace.isBroken()).toBe(false);
  });

  spec('UPS-112', 'ends with its command if a tool started it', async () => {
    const workspace = createRunnerWorkspace();
    const env = { WIELD_CALL: '1-1-1' };
    const run = await wield(workspace, ['list'], { env });
    expect(run.stderr).toContain('files');
    await begun(workspace);
    await until(() => !isAlive(workspace.runs()[0]!), 'it ends');
  });

  specIf(process.platform === 'linux', NO_PROC, 'UPS-112', 'is a process that cannot consent', async () => {
    const workspace = createRunnerWorkspace();
    await wield(workspace, ['list']);
    await begun(workspace);
    expect(readFileSync(`/proc/${workspace.runs()[0]}/limits`, 'utf8')).toMatch(/^Max file locks +0 +0 /m);
    expect(readFileSync(`/proc/${workspace.runs()[0]}/environ`, 'utf8')).toMatch(/(?:^|\0)WIELD_CALL=/);
    workspace.install();
    await until(() => !isAlive(workspace.runs()[0]!), 'it ends');
  });

  specIf.thorough(hasBubblewrap(), NO_BUBBLEWRAP, 'UPS-112 EXE-10', 'has the sandbox of the server', async () => {
    const workspace = createWorkspace();
    const outside = join(workspace.home, 'outside');
    const command = workspace.write(
      'docker',
      `#!/bin/sh
: > begun; (: > ${outside}) 2>/dev/null
until [ -e installed ]; do sleep 0.05; done
exec ${process.execPath} ${SERVER}
`,
      0o755,
    );
    configureServers(workspace, { files: { command, args: ['run', 'files'], sandbox: 'workdir' } });
    workspace.config('[limits]\nlisting = "500ms"\n');
    expect((await wield(workspace, ['list'])).stderr).toContain('docker installs it');
    await until(() => existsSync(join(workspace.dir, 'begun')), 'the installation has begun');
    workspace.write('installed', '');
    workspace.config('[limits]\nlisting = "30s"\n');
    expect((await wield(workspace, ['list'])).stdout).toContain('files_echo');
    expect(existsSync(outside)).toBe(false);
  });

  spec('UPS-112', 'has a limit without wield', async () => {
    const workspace = createRunnerWorkspace();
    const toolbox = workspace.toolbox();
    const request = { argv: [`${workspace.home}/bin/npx`], cwd: workspace.dir, environment: workspace.env };
    const lock = `${workspace.home}/lock`;
    const { stdin, ended } = await startFirst({ request, lock, limitMs: 300 }, toolbox.machine.world);
    const installer = await begun(workspace);
    stdin.end();
    await ended;
    expect(isAlive(installer)).toBe(false);
  });

  spec('UPS-112', 'waits for one that runs, and is not begun for a wield that is gone', async () => {
    const workspace = createRunnerWorkspace();
    const { world } = workspace.toolbox().machine;
    const request = { argv: [`${workspace.home}/bin/npx`], cwd: workspace.dir, environment: workspace.env };
    const start = () => startFirst({ request, lock: `${workspace.home}/lock`, limitMs: 300 }, world);
    const first = await start();
    await begun(workspace);
    const [gone, second] = [await start(), await start()];
    gone.stdin.end();
    await gone.ended;
    first.stdin.end();
    await first.ended;
    let hasEnded = false;
    second.ended.finally(() => {
      hasEnded = true;
    });
    await until(() => hasEnded || workspace.runs().length > 1, 'the second one begins');
    expect(workspace.runs()).toHaveLength(2);
    second.stdin.end();
    await second.ended;
    expect(workspace.runs()).toHaveLength(2);
  });

  spec('UPS-112', 'reports a server that cannot be started like any other', async () => {
    const workspace = createRunnerWorkspace({ mode: 'exits', listing: '30s' });
    workspace.install();
    const run = await wield(workspace, ['list']);
    expect(run.stderr).toContain('failed  could not start the server files: exited with status');
    expect(run.stderr).toContain('wield mcp refresh files');
    expect(json(await wield(workspace, ['search', '--json'])).unanswered).toMatchObject([{ state: 'failed' }]);
    expect((await wield(workspace, ['search'])).stdout).not.toContain('No tools yet');
  });
});

describe.concurrent('what is shown of a server that did not answer', () => {
  specIf(hasPty, NO_PTY, 'UPS-113', 'a terminal shows that it is installed, and for how long', async () => {
    const workspace = createRunnerWorkspace({ listing: '3500ms' });
    const { screen } = await wieldAtTerminal(workspace, ['list']);
    expect(screen).toContain('waiting for files (npx installs it)');
    expect(screen).toMatch(/installs it\) … 3 s/);
    workspace.install();
  });

  spec('UPS-113', 'a client that asks for progress gets it while a call waits for the server', async () => {
    const workspace = createRunnerWorkspace({ listing: '30s' });
    workspace.install();
    expect((await wield(workspace, ['list'])).stdout).toContain('files_echo');
    workspace.uninstall();
    const server = serveHere(workspace);
    await server.initialize();
    const params = { name: 'files_echo', arguments: { text: 'hello' }, _meta: { progressToken: 7 } };
    const called = server.request(2, 'tools/call', params);
    const progress = await server.receive(({ method }) => method === 'notifications/progress');
    expect(progress.params).toMatchObject({
      progressToken: 7,
      message: 'the server files is starting (npx installs it)',
    });
    workspace.install();
    expect(JSON.stringify(await called)).toContain('hello');
  });

  spec('UPS-115', 'wield serve names it on stderr and to the client, and search_tools to the model', async () => {
    const workspace = createRunnerWorkspace();
    const server = serveHere(workspace, { args: ['--mode', 'search'] });
    await server.initialize();
    await server.request(2, 'tools/list');
    expect(server.stderr()).toContain('the server files is still starting: npx installs it');
    const logged = await server.receive(({ method }) => method === 'notifications/message');
    expect(logged.params).toMatchObject({ level: 'warning', data: expect.stringContaining('npx installs it') });
    const searched = await server.request(3, 'tools/call', { name: 'search_tools', arguments: { queries: ['echo'] } });
    expect(JSON.stringify(searched)).toContain('the server is not available: files');
    workspace.install();
    await server.close();
  });

  for (const protocol of ['older', 'newer'] as const)
    spec(
      'UPS-115',
      `a client of the ${protocol} version over HTTP gets the list, and is told if it may be`,
      async () => {
        const workspace = createRunnerWorkspace();
        const client = await connectHttp(workspace, protocol);
        const logged: unknown[] = [];
        client.setNotificationHandler('notifications/message', ({ params }) => void logged.push(params.data));
        const { tools } = await client.listTools();
        expect(tools.map(({ name }) => name)).not.toContain('files_echo');
        // The newer version sends log messages only where a request asks for them.
        if (protocol === 'newer') expect(logged).toEqual([]);
        else await until(() => logged.length > 0, 'it is told');
        workspace.install();
      },
    );

  spec('UPS-115', 'a server that is denied to models is not named to them', async () => {
    const workspace = createRunnerWorkspace();
    workspace.config('[limits]\nlisting = "500ms"\n[trust]\nrules = ["files_*($deny)"]\n');
    const server = serveHere(workspace);
    await server.initialize();
    await server.request(2, 'tools/list');
    expect(server.lines.join('\n')).not.toContain('files');
    workspace.install();
  });

  spec('UPS-115', 'the page names it', async () => {
    const workspace = createRunnerWorkspace();
    const page = await openPage(workspace);
    const { items } = (await page.get('/api/catalog/model')).json;
    expect(items.find(({ kind }: { kind: string }) => kind === 'server')).toMatchObject({
      state: 'starting',
      why: expect.stringContaining('npx installs it'),
    });
    expect((await page.get('/api/servers')).json.servers).toMatchObject([{ name: 'files', state: 'starting' }]);
    workspace.install();
  });

  spec('UPS-115', 'doctor names it', async () => {
    const workspace = createRunnerWorkspace();
    const { stdout } = await wield(workspace, ['doctor']);
    expect(stdout).toContain('the server files is still starting');
    workspace.install();
  });

  spec('UPS-115', 'a server without a package runner is named, too', async () => {
    const workspace = createWorkspace();
    configureServers(workspace, { slow: countedServer(workspace, 'slow', { args: ['hang'] }).entry });
    workspace.config('[limits]\nlisting = "300ms"\n');
    const run = await wield(workspace, ['search']);
    expect(run.stdout).toBe('No tools are known yet: 1 server did not answer.\n');
    expect(run.stderr).toContain('the server slow has not answered yet; to wait for it: wield mcp refresh slow');
  });
});
