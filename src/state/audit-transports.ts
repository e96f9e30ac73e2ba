// Sends lines of the audit log: to a file, to an address, to syslog, or as OpenTelemetry logs. Throws if they are not accepted.

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { connect, type NetConnectOpts } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { AuditRecord } from '../audit/line.js';
import { leaveOutContents, MAX_LINE } from '../audit/record.js';
import { orNothing, ToolError } from '../core/error.js';
import type { SinkSettings } from '../core/settings.js';
import type { World } from '../core/snapshot.js';
import { count } from '../core/text.js';
import { expandHome } from '../files/home.js';
import { realPath } from '../files/within.js';
import { baseEnvironment, findProgram, searchPath } from '../process/environment.js';
import { runProcess } from '../process/spawn.js';
import { toAttributes, toNanoseconds } from '../telemetry/otlp.js';
import { sendOtlp } from '../telemetry/send.js';
import { readEndpoint, readResource, toFetchOptions } from '../telemetry/settings.js';
import { MAX_BYTES, type PostOptions, post, readCredential, TIMEOUT_MS } from './post.js';

type Options = PostOptions & { readonly directory: string; readonly signal: AbortSignal };

// Facility 13, log audit, and severity 6, informational.
const PRIORITY = 13 * 8 + 6;

export async function sendLines(sink: SinkSettings, lines: readonly string[], options: Options): Promise<void> {
  const { world } = options;
  if (sink.file !== undefined) {
    await appendLines(expandHome(sink.file, world.home), lines, options);
  } else if (sink.url !== undefined) {
    const { url, secret } = sink;
    const headers: Record<string, string> = { 'content-type': 'application/x-ndjson' };
    if (secret !== undefined)
      headers.authorization = `Bearer ${await readCredential({ name: 'audit.sinks', url, secret }, options)}`;
    await post(url, { headers, body: toNdjson(lines), signal: options.signal }, options);
  } else if (sink.syslog !== undefined) await sendSyslog(sink.syslog, lines, options);
  else await sendLogs(lines, options);
}

const toNdjson = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

async function appendLines(path: string, lines: readonly string[], { directory }: Options): Promise<void> {
  const place = realPath(path) ?? join(realPath(dirname(path)) ?? '', basename(path));
  if (dirname(place) === realPath(directory))
    throw new ToolError('conflict', 'it is among the files of the log itself');
  const { O_APPEND, O_CREAT, O_NONBLOCK, O_RDWR } = constants;
  // Does not wait for the reader of a pipe.
  const file = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK, 0o600);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new ToolError('conflict', 'it is not a regular file');
    const last = Buffer.alloc(1, '\n');
    if (stats.size > 0) await file.read(last, 0, 1, stats.size - 1);
    // A disk that was full has left a partial line.
    await file.appendFile(last.toString() === '\n' ? toNdjson(lines) : `\n${toNdjson(lines)}`);
  } finally {
    await file.close();
  }
}

async function sendSyslog(address: string, lines: readonly string[], options: Options): Promise<void> {
  const { world } = options;
  if (address.startsWith('unix:')) return sendToSocket(address.slice('unix:'.length), lines, options);
  const { protocol, hostname, port } = new URL(address);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'udp:') return sendDatagrams({ host, port: Number(port) }, lines, world);
  // Counted (RFC 6587): lines contain no newline, but receivers need not know that.
  return sendStream(
    { host, port: Number(port) },
    toMessages(lines, world)
      .map((text) => `${Buffer.byteLength(text)} ${text}`)
      .join(''),
  );
}

const toMessages = (lines: readonly string[], world: World): string[] => lines.map((line) => toMessage(line, world));

/** A message of RFC 5424. */
function toMessage(line: string, { env }: World): string {
  const record = orNothing(() => JSON.parse(line) as { time?: string; started?: string; pid?: number });
  const time = record?.time ?? record?.started ?? '-';
  return `<${PRIORITY}>1 ${time} ${env.HOSTNAME ?? '-'} wield ${record?.pid ?? '-'} audit - ${line}`;
}

// Streams are written here; a socket of datagrams, which Node cannot use, by the program `logger`.
async function sendToSocket(path: string, lines: readonly string[], options: Options) {
  const { world, signal } = options;
  try {
    await sendStream({ path }, toNdjson(toMessages(lines, world)));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPROTOTYPE') throw error;
    const program = findProgram('logger', searchPath(world));
    if (program === undefined)
      throw new ToolError('unavailable', 'the program logger was not found', {
        hint: 'install it, or use tcp:// or udp://',
      });
    const argv = [program, '--socket', path, '--socket-errors=on', '--tag', 'wield', '--prio-prefix'];
    argv.push('--size', `${2 * MAX_LINE}`);
    const stdin = toNdjson(lines.map((line) => `<${PRIORITY}>${line}`));
    const input = { argv, cwd: '/', environment: baseEnvironment(world, []), stdin, signal };
    const outcome = await runProcess({ ...input, timeoutMs: TIMEOUT_MS, outputBytes: MAX_BYTES }, world);
    const said = outcome.stderr.toString('utf8').trim();
    // It ends with 0 even if the receiver is gone.
    if (outcome.ending !== 'exit' || outcome.exitCode !== 0 || said !== '')
      throw new ToolError('unavailable', `logger: ${said.split('\n')[0] || outcome.ending}`);
  }
}

// Accepted when the receiver has closed its side without an error: it has read everything then.
function sendStream(to: NetConnectOpts, text: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(to);
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new ToolError('timeout', 'it did not respond')));
    socket.once('error', reject);
    socket.once('close', () => resolve());
    socket.resume().end(text);
  });
}

// A line that is too long for a datagram is sent without its contents. One that is still too long is left out: it would
// never be accepted, and keep those after it.
async function sendDatagrams(to: { host: string; port: number }, lines: readonly string[], world: World) {
  const { createSocket } = await import('node:dgram');
  const socket = createSocket(to.host.includes(':') ? 'udp6' : 'udp4');
  const fits = async (line: string): Promise<boolean> => {
    try {
      await promisify<string, number, string>(socket.send.bind(socket))(toMessage(line, world), to.port, to.host);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EMSGSIZE') throw error;
      return false;
    }
  };
  const shorten = (line: string): string => orNothing(() => leaveOutContents(JSON.parse(line) as AuditRecord)) ?? line;
  let rejected = 0;
  try {
    for (const line of lines) if (!(await fits(line)) && !(await fits(shorten(line)))) rejected++;
  } finally {
    socket.close();
  }
  if (rejected > 0)
    throw new ToolError('unavailable', `${count(rejected, 'line')} too long for a datagram; use tcp://`, {
      data: { rejected },
    });
}

async function sendLogs(lines: readonly string[], { world, createFetch, signal }: Options): Promise<void> {
  const { env } = world;
  const faults = new Set<string>();
  const endpoint = readEndpoint(env, 'LOGS', faults);
  if (endpoint === undefined) {
    const [fault = 'OTEL_EXPORTER_OTLP_ENDPOINT is not set; set it, for example to http://localhost:4318'] = faults;
    throw new ToolError('unavailable', fault);
  }
  const fetch = createFetch({ ...toFetchOptions(endpoint), confidential: true });
  await sendOtlp(endpoint, Buffer.from(JSON.stringify(toLogs(lines, env))), { fetch, signal });
}

/** The body of an OTLP/HTTP request with logs, as JSON. */
function toLogs(lines: readonly string[], env: World['env']): object {
  const logRecords = lines.map((line) => {
    const record = orNothing(() => JSON.parse(line) as { time?: string; started?: string; code?: string | null });
    const at = Date.parse(record?.time ?? record?.started ?? '');
    return {
      timeUnixNano: Number.isNaN(at) ? '0' : toNanoseconds(at),
      severityNumber: record?.code == null ? 9 : 13,
      severityText: record?.code == null ? 'INFO' : 'WARN',
      body: { stringValue: line },
      attributes: toAttributes({
        'event.name': record?.started === undefined ? 'wield.audit.ended' : 'wield.audit.started',
      }),
    };
  });
  const resource = { attributes: toAttributes(readResource(env)) };
  return { resourceLogs: [{ resource, scopeLogs: [{ scope: { name: 'wield.audit' }, logRecords }] }] };
}
