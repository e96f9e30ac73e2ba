// `[audit] sinks`: receivers of the audit log.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, vi } from 'vitest';
import { logDirectory, logText } from '../../support/audit.js';
import { json, wield } from '../../support/cli.js';
import { hasProgram } from '../../support/machine.js';
import { shellScript } from '../../support/shell-script.js';
import { spec, specIf } from '../../support/spec.js';
import { createWorkspace, type Workspace } from '../../support/workspace.js';

function createCalling(sinks: string): Workspace {
  const workspace = createWorkspace();
  workspace.config(`[audit]\nsinks = [${sinks}]\n`);
  workspace.script('hello', shellScript('echo hello'));
  return workspace;
}

const call = (workspace: Workspace) => wield(workspace, ['call', 'hello']);

/** Lines of the log, of all files. */
const linesOf = (workspace: Workspace): string[] => logText(workspace).split('\n').filter(Boolean);

interface LogRecord {
  readonly body: { readonly stringValue: string };
  readonly timeUnixNano: string;
}

/** The records of requests with OpenTelemetry logs. */
const recordsOf = (bodies: readonly string[]): LogRecord[] =>
  bodies.flatMap((body) => JSON.parse(body).resourceLogs[0].scopeLogs[0].logRecords);

interface Receiver {
  readonly url: string;
  readonly lines: string[];
  readonly requests: IncomingMessage[];
  /** The status and the body of its answers. */
  status: number;
  body: string;
  server: Server;
}

async function listen(port = 0, into: string[] = []): Promise<Receiver> {
  const receiver = { lines: into, requests: [] as IncomingMessage[], status: 200, body: '' };
  const server = createHttpServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    receiver.requests.push(request);
    if (receiver.status === 200) into.push(...body.split('\n').filter(Boolean));
    response.writeHead(receiver.status).end(receiver.body);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => void server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ingest`;
  return Object.assign(receiver, { url, server });
}

describe('sinks of the configuration', () => {
  spec('OBS-11', 'an address gets every line in order, with a bearer token that is in no file', async () => {
    const receiver = await listen();
    const workspace = createCalling(`{ url = "${receiver.url}", secret = "\${SIEM_TOKEN}" }`);
    workspace.env.SIEM_TOKEN = 'token-of-the-siem';
    for (let at = 0; at < 3; at++) expect((await call(workspace)).status).toBe(0);
    expect(receiver.lines).toEqual(linesOf(workspace));
    expect(receiver.lines).toHaveLength(6);
    expect(receiver.requests[0]?.headers).toMatchObject({
      authorization: 'Bearer token-of-the-siem',
      'content-type': 'application/x-ndjson',
    });
    expect(logText(workspace)).not.toContain('token-of-the-siem');
  });

  spec('OBS-11', 'nothing is lost while it fails, is away or starts again; the call is not affected', async () => {
    const first = await listen();
    const workspace = createCalling(`{ url = "${first.url}" }`);
    await call(workspace);
    first.status = 503;
    const failed = await call(workspace);
    expect(failed).toMatchObject({ status: 0, stdout: 'hello\n' });
    expect(failed.stderr).toMatch(/^warning {2}the audit log could not be sent to http:.*later: status 503\n$/);
    const port = Number(new URL(first.url).port);
    await new Promise((resolve) => first.server.close(resolve).closeAllConnections());
    // Not tried again before its time.
    await call(workspace);
    const second = await listen(port, first.lines);
    await vi.waitFor(async () => {
      await call(workspace);
      expect(second.lines.length).toBeGreaterThan(4);
    }, 30_000);
    expect(second.lines).toEqual(linesOf(workspace));
  });

  spec('OBS-11', 'a clock that was set back delays nothing', async () => {
    const away = await listen();
    await new Promise((resolve) => away.server.close(resolve));
    const workspace = createCalling(`{ url = "${away.url}" }`);
    const now = () => Date.now() + 40 * 24 * 3600_000;
    expect((await wield(workspace, ['call', 'hello'], { now })).stderr).toContain('could not be sent');
    const back = await listen(Number(new URL(away.url).port));
    await call(workspace);
    expect(back.lines).toEqual(linesOf(workspace));
  });

  spec('OBS-11', 'a file and syslog over TCP get the same lines, from several processes once each', async () => {
    let received = '';
    const syslog = createTcpServer((socket) => {
      socket.setEncoding('utf8').on('data', (text) => {
        received += text;
      });
    });
    await new Promise<void>((resolve) => syslog.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void syslog.close());
    const { port } = syslog.address() as AddressInfo;
    const workspace = createCalling(`{ file = "~/copy.jsonl" }, { syslog = "tcp://127.0.0.1:${port}" }`);
    await Promise.all(Array.from({ length: 4 }, () => call(workspace)));
    await call(workspace);
    const lines = linesOf(workspace);
    expect(lines).toHaveLength(10);
    expect(readFileSync(join(workspace.home, 'copy.jsonl'), 'utf8').split('\n').filter(Boolean)).toEqual(lines);
    const messages: string[] = [];
    for (let rest = Buffer.from(received); rest.length > 0; ) {
      const [length = '0'] = rest.toString('utf8', 0, 10).split(' ');
      const start = length.length + 1;
      messages.push(rest.toString('utf8', start, start + Number(length)));
      rest = rest.subarray(start + Number(length));
    }
    expect(messages.map((text) => text.replace(/^<110>1 \S+ \S+ wield \d+ audit - /, ''))).toEqual(lines);
  });

  spec('OBS-11', 'syslog over UDP gets a line that is too long without its contents, and those after it', async () => {
    const receiver = createSocket('udp4');
    const received: string[] = [];
    receiver.on('message', (message) => void received.push(message.toString().replace(/^.* audit - /, '')));
    await new Promise<void>((resolve) => receiver.bind(0, '127.0.0.1', resolve));
    onTestFinished(() => void receiver.close());
    const workspace = createWorkspace();
    const sinks = `[{ syslog = "udp://127.0.0.1:${receiver.address().port}" }]`;
    workspace.config(`[audit]\ncontents = true\nsinks = ${sinks}\n`);
    // As many as fit into a line of the log: its length depends on the paths of this machine.
    const isLong = (line: string): boolean => Buffer.byteLength(line) > 65_480;
    for (let count = 10_800; !linesOf(workspace).some(isLong) && count > 10_300; count -= 20) {
      workspace.script('hello', shellScript(`head -c ${count} /dev/zero | tr '\\0' '\\1'`));
      expect((await call(workspace)).stderr).toBe('');
    }
    workspace.script('hello', shellScript('echo hello'));
    await call(workspace);
    expect(linesOf(workspace).filter(isLong)).toHaveLength(1);
    const lines = linesOf(workspace).map((line) => {
      if (!isLong(line)) return line;
      const { input, output, ...rest } = JSON.parse(line);
      return JSON.stringify({ ...rest, contentsLeftOut: true });
    });
    await vi.waitFor(() => expect(received).toEqual(lines), 10_000);
  });

  spec('OBS-11', 'says in words and without paths why it could not be sent', async () => {
    const workspace = createCalling('');
    const said = async (sink: string): Promise<string> => {
      workspace.config(`[audit]\nsinks = [${sink}]\n`);
      return (await call(workspace)).stderr.replace(/^.*is sent later: /, '');
    };
    const key = 'a-key-of-a-hook'.repeat(20);
    expect(await said(`{ url = "http://127.0.0.1:1/services/${key}?key=b" }`)).toBe(
      'http://127.0.0.1:1/…: connection refused\n',
    );
    expect(await said('{ syslog = "tcp://127.0.0.1:1" }')).toBe('connection refused\n');
    expect(await said('{ syslog = "unix:/nowhere/log" }')).toBe('no such file or directory\n');
    expect(await said('{ file = "/nowhere/log" }')).toBe('no such file or directory\n');
    expect(await said('{ file = "~/.wield" }')).toBe('illegal operation on a directory\n');
    expect(await said('{ otlp = true }')).toContain('OTEL_EXPORTER_OTLP_ENDPOINT is not set');
  });

  spec.thorough('OBS-11', 'says that an address did not answer in time', async () => {
    const silent = createTcpServer();
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const { stderr } = await call(createCalling(`{ url = "http://127.0.0.1:${port}/" }`));
    expect(stderr).toMatch(/is sent later: it did not answer in time\n$/);
  });

  spec('OBS-11', 'syslog that was away gets what it missed, in order', async () => {
    let received = '';
    const open = async (port = 0) => {
      const server = createTcpServer((socket) => {
        socket.setEncoding('utf8').on('data', (text) => {
          received += text;
        });
      });
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
      onTestFinished(() => void server.close());
      return server;
    };
    const first = await open();
    const { port } = first.address() as AddressInfo;
    const workspace = createCalling(`{ syslog = "tcp://127.0.0.1:${port}" }`);
    await call(workspace);
    await new Promise((resolve) => first.close(resolve));
    expect((await call(workspace)).stderr).toContain('could not be sent');
    await open(port);
    await vi.waitFor(async () => {
      await call(workspace);
      const lines = linesOf(workspace);
      const places = lines.map((line) => received.indexOf(line));
      expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }, 30_000);
  });

  specIf(
    hasProgram('logger') && hasProgram('python3'),
    'logger or python3 is missing; to run: install bsdutils and python3',
    'OBS-11',
    'a socket of datagrams gets them by logger',
    async () => {
      const workspace = createWorkspace();
      const socket = join(workspace.home, 'log');
      const program = `import socket,sys\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind(sys.argv[1])\nprint("ready",flush=True)\nwhile True: print(s.recv(70000).decode(),flush=True)`;
      const receiver: ChildProcess = spawn('python3', ['-c', program, socket]);
      onTestFinished(() => void receiver.kill());
      let received = '';
      receiver.stdout!.on('data', (chunk) => {
        received += chunk;
      });
      await vi.waitFor(() => expect(received).toContain('ready'), 20_000);
      workspace.config(`[audit]\nsinks = [{ syslog = "unix:${socket}" }]\n`);
      workspace.script('hello', shellScript('echo hello'));
      expect((await call(workspace)).stderr).toBe('');
      await vi.waitFor(() => {
        for (const line of linesOf(workspace)) expect(received).toContain(line);
      }, 20_000);
    },
  );

  specIf(
    hasProgram('logger') && hasProgram('python3'),
    'logger or python3 is missing; to run: install bsdutils and python3',
    'OBS-11',
    'a socket of datagrams whose receiver ends gets the rest when there is one again',
    async () => {
      const workspace = createCalling('');
      for (let at = 0; at < 15; at++) await call(workspace);
      const socket = join(workspace.home, 'log');
      const program = `import os,socket,sys,time\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\nif os.path.exists(sys.argv[1]): os.unlink(sys.argv[1])\ns.bind(sys.argv[1])\nprint("ready",flush=True)\nfor _ in range(int(sys.argv[2])):\n  print(s.recv(70000).decode(),flush=True)\n  time.sleep(float(sys.argv[3]))`;
      const receive = async (count: number, pause: number) => {
        const receiver = spawn('python3', ['-c', program, socket, `${count}`, `${pause}`]);
        onTestFinished(() => void receiver.kill());
        const received = { text: '', ended: new Promise((resolve) => receiver.once('close', resolve)) };
        receiver.stdout.on('data', (chunk) => {
          received.text += chunk;
        });
        await vi.waitFor(() => expect(received.text).toContain('ready'), 20_000);
        return received;
      };
      const first = await receive(2, 0.05);
      workspace.config(`[audit]\nsinks = [{ syslog = "unix:${socket}" }]\n`);
      expect((await call(workspace)).stderr).toContain('could not be sent');
      await first.ended;
      const second = await receive(1000, 0);
      await vi.waitFor(async () => {
        await call(workspace);
        for (const line of linesOf(workspace)) expect(second.text).toContain(line);
      }, 30_000);
    },
  );

  spec('OBS-11', 'a file is appended to on whole lines, and neither a pipe nor the log itself', async () => {
    const workspace = createCalling('{ file = "~/copy.jsonl" }');
    writeFileSync(join(workspace.home, 'copy.jsonl'), '{"cut":');
    await call(workspace);
    expect(readFileSync(join(workspace.home, 'copy.jsonl'), 'utf8').split('\n')).toEqual([
      '{"cut":',
      ...linesOf(workspace),
      '',
    ]);
    execFileSync('mkfifo', [join(workspace.home, 'pipe')]);
    workspace.config('[audit]\nsinks = [{ file = "~/pipe" }]\n');
    expect((await call(workspace)).stderr).toContain('it is not a regular file');
    workspace.config(`[audit]\nsinks = [{ file = "${logDirectory(workspace)}/000001.jsonl" }]\n`);
    const before = linesOf(workspace).length;
    expect((await call(workspace)).stderr).toContain('it is among the files of the log itself');
    expect(linesOf(workspace)).toHaveLength(before + 2);
  });

  spec('OBS-11', 'OpenTelemetry logs go to the address of its variables', async () => {
    const receiver = await listen();
    const workspace = createCalling('{ otlp = true }');
    const { origin } = new URL(receiver.url);
    Object.assign(workspace.env, {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${origin}/otel/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=a%20b',
      // Only logs are of interest here.
      OTEL_TRACES_EXPORTER: 'none',
      OTEL_METRICS_EXPORTER: 'none',
    });
    await call(workspace);
    const [request] = receiver.requests;
    expect(request).toMatchObject({ url: '/otel/v1/logs' });
    expect(request?.headers).toMatchObject({ 'x-api-key': 'a b', 'content-type': 'application/json' });
    // The line of the start may be sent before that of the end.
    const sent = receiver.lines.map((body) => JSON.parse(body).resourceLogs[0]);
    expect(sent[0].resource.attributes).toEqual([{ key: 'service.name', value: { stringValue: 'wield' } }]);
    const records = recordsOf(receiver.lines);
    expect(records.map(({ body }) => body.stringValue)).toEqual(linesOf(workspace));
    expect(records[0]!.timeUnixNano).toMatch(/^\d{19}$/);
  });

  spec('OBS-11', 'lines are not taken for sent if the address of OpenTelemetry is that of another server', async () => {
    const receiver = await listen();
    receiver.body = '<!doctype html><p>hi';
    const workspace = createCalling('{ otlp = true }');
    workspace.env.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT = receiver.url;
    const { status, stdout, stderr } = await call(workspace);
    expect([status, stdout]).toEqual([0, 'hello\n']);
    expect(stderr).toContain('later: its answer is not that of an OTLP receiver');
  });

  spec('OBS-11', 'what an OTLP receiver has read and rejected is said, and not sent again', async () => {
    const receiver = await listen();
    const workspace = createCalling('{ otlp = true }');
    workspace.env.OTEL_EXPORTER_OTLP_LOGS_ENDPOINT = receiver.url;
    receiver.body = '{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}';
    expect((await call(workspace)).stderr).toMatch(
      /^warning {2}.* took the audit log, and not all lines of it: it rejected 1: too old\n$/,
    );
    receiver.body = '{"partialSuccess":{}}';
    const before = receiver.lines.length;
    const first = linesOf(workspace).length;
    expect((await call(workspace)).stderr).toBe('');
    expect(recordsOf(receiver.lines.slice(before)).map(({ body }) => body.stringValue)).toEqual(
      linesOf(workspace).slice(first),
    );
  });

  spec(
    'OBS-11',
    'if it is away for long, calls wait and no line is lost, or lines are lost with a warning',
    async () => {
      const away = await listen();
      await new Promise((resolve) => away.server.close(resolve));
      const configure = (full: string): void =>
        workspace.config(`[audit]\nrotate = "1KiB"\nkeep = 1\nsinks = [{ url = "${away.url}", full = "${full}" }]\n`);
      const workspace = createCalling('');
      configure('block');
      const answers = [];
      for (let at = 0; at < 5; at++) answers.push(json(await wield(workspace, ['call', 'hello', '--json'])));
      expect(answers[0].ok).toBe(true);
      expect(answers.at(-1).error).toMatchObject({
        code: 'unavailable',
        message: `nothing was run: ${new URL(away.url).origin} has not taken the audit log for too long`,
      });
      const written = linesOf(workspace);
      expect(JSON.parse(written[0]!)).toMatchObject({ tool: 'hello', seq: 1 });
      const back = await listen(Number(new URL(away.url).port));
      await vi.waitFor(async () => {
        await call(workspace);
        expect(back.lines.slice(0, written.length)).toEqual(written);
      }, 30_000);
      expect((await call(workspace)).status).toBe(0);

      back.status = 500;
      configure('drop');
      const said: string[] = [];
      for (let at = 0; at < 4; at++) said.push((await call(workspace)).stderr);
      back.status = 200;
      await vi.waitFor(async () => {
        said.push((await call(workspace)).stderr);
        expect(said.join('')).toContain('lines of the audit log were removed before they were sent to http:');
      }, 30_000);
    },
  );

  spec('OBS-11', 'calls do not wait for a new sink, which begins with the newest file', async () => {
    const receiver = await listen();
    const workspace = createCalling('');
    workspace.config('[audit]\nrotate = "1KiB"\nkeep = 5\n');
    for (let at = 0; at < 4; at++) await call(workspace);
    workspace.config(`[audit]\nrotate = "1KiB"\nkeep = 1\nsinks = [{ url = "${receiver.url}", full = "block" }]\n`);
    for (let at = 0; at < 3; at++) expect((await call(workspace)).status).toBe(0);
    expect(receiver.lines.at(-1)).toBe(linesOf(workspace).at(-1));
  });

  spec('OBS-11 POL-9', 'a project cannot name one, and an invalid one is reported', async () => {
    const receiver = await listen();
    const workspace = createCalling('');
    mkdirSync(join(workspace.dir, '.agents'), { recursive: true });
    writeFileSync(join(workspace.dir, '.agents/config.toml'), `[audit]\nsinks = [{ url = "${receiver.url}" }]\n`);
    await call(workspace);
    expect(receiver.lines).toEqual([]);
    workspace.config('[audit]\nsinks = [{ url = "http://siem.example.com/", file = "x" }]\n');
    const refused = await call(workspace);
    expect(refused.status).toBe(5);
    expect(refused.stderr).toContain('audit.sinks');
    for (const address of ['tcp://127.0.0.1:99999', 'udp://127.0.0.1:0']) {
      workspace.config(`[audit]\nsinks = [{ syslog = "${address}" }]\n`);
      expect((await call(workspace)).stderr).toContain('audit.sinks[0].syslog');
    }
  });
});
