// Sandboxes with a list of hosts: for everything that runs in a sandbox, with what applies together, and as it is shown.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, vi } from 'vitest';
import { isHostEntry } from '../../src/core/hosts.js';
import { words } from '../../src/core/text.js';
import { textOf } from '../../src/index.js';
import { logRecords } from '../support/audit.js';
import { createBrokerWorkspace } from '../support/broker.js';
import { json, wield } from '../support/cli.js';
import { createSkillWorkspace, declare } from '../support/commands.js';
import { record, sandboxScript } from '../support/egress.js';
import { createInstallWorkspace } from '../support/install.js';
import { hasProgram, notInstalled } from '../support/machine.js';
import { createModuleWorkspace, moduleText } from '../support/modules.js';
import { patience } from '../support/patience.js';
import { startProxy } from '../support/proxy.js';
import {
  hasBubblewrap,
  hasLandlock,
  NO_BUBBLEWRAP,
  NO_LANDLOCK,
  withoutBubblewrap,
} from '../support/sandbox-attempts.js';
import { spec, specIf } from '../support/spec.js';
import { useDisk } from '../support/temporary.js';
import { configureServers } from '../support/upstream-servers.js';
import { createWorkspace, type Workspace } from '../support/workspace.js';

useDisk();

const WORKS = hasBubblewrap();
const inSandbox = (ids: string, title: string, body: () => Promise<void>): void =>
  specIf(WORKS, NO_BUBBLEWRAP, ids, title, body);
const SERVER = fileURLToPath(new URL('../support/egress-server.mjs', import.meta.url));

/** A function that requests an address through the proxy of its environment, as text. */
const GET = `(url) => new Promise((resolve, reject) => {
  const proxy = new URL(process.env.HTTP_PROXY);
  require('node:http').request({ host: proxy.hostname, port: proxy.port, path: url, headers: { host: new URL(url).host } }, (response) => {
    response.on('data', (text) => (response.statusCode === 200 ? resolve : reject)(String(text)));
  }).on('error', reject).end();
})`;
const getScript = (...urls: readonly string[]): string =>
  `const get = ${GET};\n(async () => { for (const url of ${JSON.stringify(urls)}) console.log(await get(url)); })().catch((text) => { console.error(text); process.exit(1); });`;

describe.concurrent('a list of hosts', () => {
  inSandbox('EXE-84 EXE-85', 'is shown, and a refusal names the line that allows a host', async () => {
    const workspace = createWorkspace();
    const { port } = await record();
    const [good, evil] = [`good.localhost:${port}`, `evil.localhost:${port}`];
    sandboxScript(workspace, 'go', getScript(`http://${good}/`, `http://${evil}/`), [good]);
    for (const words of [
      ['show', 'go'],
      ['explain', 'go'],
      ['call', 'go', '--dry-run'],
    ])
      expect((await wield(workspace, words)).stdout).toContain(good);
    const result = json(await wield(workspace, ['call', 'go', '--json']));
    expect(result.error).toMatchObject({
      code: 'denied',
      message: `go was stopped by its sandbox (go): ${evil} is not in its list`,
      hint: `allow it in ~/.wield/config.toml with [sandbox.go] network = ["${good}", "${evil}"]`,
      data: { sandbox: { refused: 'network', hosts: [evil] } },
    });
    expect(result.meta.sandboxRefused).toEqual([`${evil} is not in its list`]);
    // What the program got.
    expect(textOf(result)).toContain(`[sandbox.go] network = ["${good}", "${evil}"]`);
    workspace.config(`[sandbox.go]\nnetwork = ["${good}", "${evil}"]\n`);
    expect(json(await wield(workspace, ['call', 'go', '--json']))).toMatchObject({ ok: true });
  });

  inSandbox('EXE-85', 'warns of a refusal that the tool ignored', async () => {
    const workspace = createWorkspace();
    sandboxScript(workspace, 'go', `(${GET})('http://evil.test/').catch(() => console.log('done'))`, ['good.test']);
    const run = await wield(workspace, ['call', 'go']);
    expect(run).toMatchObject({ status: 0, stdout: 'done\n' });
    expect(run.stderr).toBe('warning: refused by the sandbox: evil.test:80 is not in its list\n');
    expect(logRecords(workspace).at(-1)).toMatchObject({ code: null, refused: ['evil.test:80 is not in its list'] });
  });

  inSandbox('EXE-84', 'is what all profiles have, and a project only narrows it', async () => {
    const workspace = createWorkspace();
    const networkOf = async (): Promise<unknown> => {
      const { plan } = await workspace.toolbox().plan('go', {});
      return (plan as { sandbox?: { network: unknown } }).sandbox?.network;
    };
    sandboxScript(workspace, 'go', '', ['*.example.com', 'other.test:8443', '[::1]:80', 'Bücher.example']);
    expect(await networkOf()).toEqual(['*.example.com', 'other.test:8443', '[::1]:80', 'Bücher.example']);
    const project = (network: string): string =>
      workspace.write('.agents/config.toml', `[sandbox.go]\nnetwork = ${network}\n`);
    project('["API.example.com.:443", "example.com", "other.test", "evil.test", "xn--bcher-kva.example:80"]');
    expect(await networkOf()).toEqual(['xn--bcher-kva.example:80', 'api.example.com:443']);
    project('true');
    expect(await networkOf()).toEqual(['*.example.com', 'other.test:8443', '[::1]:80', 'Bücher.example']);
    project('["evil.test"]');
    expect(await networkOf()).toBe(false);
    project('false');
    expect(await networkOf()).toBe(false);
    workspace.config('[sandbox.go]\nnetwork = true\n');
    project('["good.test"]');
    expect(await networkOf()).toEqual(['good.test']);
  });

  spec('EXE-84 POL-9', 'with an entry that is not a host is invalid', async () => {
    const workspace = createWorkspace();
    const wrong = words('* http://a a/b a:0 a:65536 a:b *.127.0.0.1 a.* u@a ::1 .a a..b *.*.a [::1 1.2.3.4.5');
    expect([...wrong, '', 'a b'].filter(isHostEntry)).toEqual([]);
    sandboxScript(workspace, 'go', 'console.log("ran")', ['good.test', '*']);
    expect(json(await wield(workspace, ['call', 'go', '--json'])).ok).toBe(false);
    expect((await wield(workspace, ['doctor'])).stdout).toContain('sandbox.go.network[1] is not a host');
  });

  specIf(
    WORKS && hasProgram('prlimit'),
    WORKS ? notInstalled('prlimit') : NO_BUBBLEWRAP,
    'EXE-84 EXE-9',
    'leaves a tool its standard streams, status and limits',
    async () => {
      const workspace = createWorkspace();
      // What started it keeps no socket that it does not have itself. It closes others while they are listed.
      const sockets = `for s in $(ls -l /proc/$PPID/fd 2>/dev/null | grep -o 'socket:.*'); do ls -l /proc/$$/fd | grep -qF "$s" || echo "$s"; done`;
      workspace.script('go', `#!/bin/sh\n# @description D\n# @sandbox go\n${sockets}\ncat >&2; ulimit -v; exit 7\n`);
      // Less than Node needs.
      workspace.config('[sandbox.go]\nnetwork = ["good.test"]\n[limits]\nmemory = "100 MiB"\n');
      const result = json(await wield(workspace, ['call', 'go', '--json']));
      expect(result).toMatchObject({ error: { code: 'tool_failed' }, meta: { exitCode: 7 } });
      expect(textOf(result)).toBe(`[stderr]\n{}\n[stdout]\n${100 * 1024}\n`);
    },
  );

  inSandbox('EXE-84', 'ends a call whose first program is killed, and nothing goes on', async () => {
    const workspace = createWorkspace();
    const { port, received } = await record();
    const loop = `setInterval(() => (${GET})('http://good.localhost:${port}/late').catch(() => {}), 50)`;
    const left = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(loop)}], { detached: true, stdio: 'ignore' }).unref();`;
    const kill = `setTimeout(() => process.kill(process.ppid, 'SIGKILL'), 1000); setInterval(() => {}, 1000);`;
    sandboxScript(workspace, 'go', `${left}${kill}`, [`good.localhost:${port}`]);
    const result = json(await wield(workspace, ['call', 'go', '--json']));
    expect(result).toMatchObject({ ok: false });
    let last: string | undefined;
    const compare = (): void => {
      const before = last;
      last = received();
      expect(last).toBe(before);
    };
    await vi.waitFor(compare, { interval: 500, timeout: patience(5000) });
  });

  inSandbox('EXE-84', 'is refused to a program that does not use the proxy, which is said', async () => {
    const workspace = createWorkspace();
    const body = `require('node:dns').lookup('good.test', (error) => { console.error(String(error)); process.exit(1); })`;
    sandboxScript(workspace, 'go', body, ['good.test']);
    const { error } = json(await wield(workspace, ['call', 'go', '--json']));
    expect(error).toMatchObject({
      code: 'denied',
      message: expect.stringContaining('use of the network without its proxy'),
    });
    expect(error.hint).toContain('let it use the proxy in HTTPS_PROXY and HTTP_PROXY');
  });

  specIf(hasLandlock(), NO_LANDLOCK, 'EXE-84', 'is refused without bubblewrap, and doctor says so', async () => {
    const workspace = createWorkspace();
    withoutBubblewrap(workspace);
    sandboxScript(workspace, 'go', 'console.log("ran")', ['good.test']);
    const { error } = json(await wield(workspace, ['call', 'go', '--json']));
    expect(error).toMatchObject({ code: 'unavailable' });
    expect(error.message).toContain('landlock cannot limit the network to some hosts');
    expect((await wield(workspace, ['doctor'])).stdout).toContain(
      'all sandbox profiles without a list of hosts are enforced',
    );
  });

  inSandbox('EXE-85 NET-1', 'goes through the proxy of the network', async () => {
    const workspace = createWorkspace();
    const { port, received } = await record();
    const proxy = await startProxy({ ports: { 'api.test:80': port, 'api.test:443': port }, auth: 'ada:secret' });
    const connect = `const net = require('node:net');
      const socket = net.connect(3128, '127.0.0.1', () => socket.write('CONNECT api.test:443 HTTP/1.1\\r\\nHost: api.test:443\\r\\n\\r\\n'));
      socket.once('data', (head) => { console.log(String(head).split('\\r\\n')[0]); socket.destroy(); (${GET})('http://api.test/plain').then(console.log); });`;
    sandboxScript(workspace, 'go', connect, ['api.test']);
    const config = readFileSync(join(workspace.env.WIELD_HOME!, 'config.toml'), 'utf8');
    workspace.config(`${config}[net]\nproxy = "${proxy.url}"\nproxy-auth = "\${PROXY_AUTH}"\n`);
    const env = { ...workspace.env, PROXY_AUTH: 'ada:secret' };
    const run = await wield(workspace, ['call', 'go'], { env });
    expect(run.stdout).toBe('HTTP/1.1 200 Connection Established\nyes\n');
    expect(proxy.asked).toEqual(['CONNECT api.test:443', 'GET http://api.test/plain']);
    expect(received()).not.toMatch(/proxy/i);
  });
});

describe.concurrent('the sandbox with a list of hosts', () => {
  inSandbox('EXE-84 EXE-85', 'of a module', async () => {
    const workspace = createModuleWorkspace();
    const { port } = await record();
    const before = `import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\nconst get = ${GET};`;
    workspace.module(
      'net.tool.mjs',
      moduleText('net', '({ url }) => get(url).catch((text) => { throw new Error(text); })', before),
    );
    workspace.config(
      `[[sandbox]]\nmatch = "net"\nprofile = "some"\n[sandbox.some]\nnetwork = ["good.localhost:${port}"]\n`,
    );
    const toolbox = workspace.toolbox();
    expect(textOf(await toolbox.call('net', { url: `http://good.localhost:${port}/` }))).toBe('yes');
    const { error } = await toolbox.call('net', { url: `http://evil.localhost:${port}/` });
    expect(error).toMatchObject({ code: 'denied', data: { sandbox: { hosts: [`evil.localhost:${port}`] } } });
    expect(textOf(await toolbox.call('net', { url: `http://good.localhost:${port}/` }))).toBe('yes');
  });

  inSandbox('EXE-84 EXE-85 TJS-18', 'of a command and its resolver', async () => {
    const workspace = createSkillWorkspace();
    const { port } = await record();
    const program = (host: string): string =>
      `#!/usr/bin/env node\n${getScript(`http://${host}.localhost:${port}/`)}\n`;
    workspace.program('args', program('good'));
    workspace.program('find', program('good'));
    workspace.skill('net', {
      'tools.json': declare([{ param: 'a', resolveCommand: { binary: 'find', args: ['$param'] } }], {
        allowlist: { args: [''], find: [''] },
      }),
    });
    workspace.config(
      `[[sandbox]]\nmatch = "run"\nprofile = "some"\n[sandbox.some]\nnetwork = ["good.localhost:${port}"]\n`,
    );
    const result = await workspace.toolbox().call('run', { a: 'x' });
    expect(result.error).toBeUndefined();
    expect(result.meta.resolvers).toBeUndefined();
    expect(textOf(result)).toBe('yes\n');
  });

  inSandbox('EXE-84 EXE-85', 'of a hook', async () => {
    const workspace = createInstallWorkspace();
    const { port } = await record();
    const get = (host: string): string => `node get.cjs http://${host}.localhost:${port}/ > out.sh && chmod +x out.sh`;
    const tool = (host: string): Record<string, string> => ({
      'tools/made/TOOL.md': `---\ndescription: D.\nbin: out.sh\nbuild: ${get(host)}\n---\n`,
      'tools/made/get.cjs': getScript('ARGUMENT').replace('["ARGUMENT"]', 'process.argv.slice(2)'),
    });
    workspace.config(`[sandbox.hooks]\nnetwork = ["good.localhost:${port}"]\n`);
    const refused = await workspace.fail('add', workspace.source('bad', tool('evil')), '--yes', '--run-hooks');
    expect(refused).toMatchObject({ code: 'denied', data: { sandbox: { hosts: [`evil.localhost:${port}`] } } });
    const { status } = await workspace.run('add', workspace.source('good', tool('good')), '--yes', '--run-hooks');
    expect(status).toBe(0);
    expect(workspace.stored('tool/made/out.sh')).toBe('yes\n');
  });

  const get = async (workspace: Workspace, url: string) =>
    json(await wield(workspace, ['call', 'far_get', '--json', '--input', JSON.stringify({ url })]));
  const entry = { command: process.execPath, args: [SERVER] };

  inSandbox('EXE-84 EXE-85', 'of a server', async () => {
    const workspace = createWorkspace();
    const { port } = await record();
    configureServers(workspace, { far: { ...entry, sandbox: 'far' } });
    workspace.config(`[sandbox.far]\nnetwork = ["good.localhost:${port}"]\n`);
    expect(textOf(await get(workspace, `http://good.localhost:${port}/`))).toBe('yes');
    const result = await get(workspace, `http://evil.localhost:${port}/`);
    expect(textOf(result)).toContain(`[sandbox.far] network = ["good.localhost:${port}", "evil.localhost:${port}"]`);
  });

  inSandbox('EXE-84 EXE-85', 'of a server of VS Code', async () => {
    const workspace = createWorkspace();
    const { port } = await record();
    const write = (network: object): void =>
      configureServers(workspace, { far: { ...entry, sandboxEnabled: true, sandbox: { network } } });
    write({ allowedDomains: [`*.localhost:${port}`], deniedDomains: ['other.test'] });
    expect(textOf(await get(workspace, `http://good.localhost:${port}/`))).toBe('yes');
    expect(textOf(await get(workspace, 'http://other.test/'))).toContain('other.test:80 is not in its list');
    write({ allowedDomains: [`*.localhost:${port}`], deniedDomains: ['evil.localhost'] });
    expect((await wield(workspace, ['doctor'])).stdout).toContain('cannot deny a part of allowedDomains');
    write({ allowedDomains: ['*'] });
    expect((await wield(workspace, ['doctor'])).stdout).toContain('sandbox.network.allowedDomains.0: is not a host');
  });

  inSandbox('EXE-84 EXE-85', 'of a server that sessions share', async () => {
    const workspace = createBrokerWorkspace({ far: { ...entry, sandbox: 'far' } });
    const { port } = await record();
    workspace.config(`[mcp]\nbroker = true\n[sandbox.far]\nnetwork = ["good.localhost:${port}"]\n`);
    expect(textOf(await get(workspace, `http://good.localhost:${port}/`))).toBe('yes');
    expect(textOf(await get(workspace, `http://evil.localhost:${port}/`))).toContain('is not in its list');
    expect(workspace.brokerPid()).toBeDefined();
    // Another list is another process.
    workspace.config(`[mcp]\nbroker = true\n[sandbox.far]\nnetwork = ["evil.localhost:${port}"]\n`);
    expect(textOf(await get(workspace, `http://good.localhost:${port}/`))).toContain('is not in its list');
    expect(textOf(await get(workspace, `http://evil.localhost:${port}/`))).toBe('yes');
  });
});
