// Runs git so that no configuration of a repository, user or system can start other programs (INS-7).

import { join } from 'node:path';
import { ToolError } from '../../core/error.js';
import { quoteOutside } from '../../core/text.js';
import { digestParts } from '../../files/digest.js';
import { makeDirectory } from '../../files/make-directory.js';
import { statOrNothing } from '../../files/read.js';
import { writeFileAtomic } from '../../files/write.js';
import type { ProxyServer } from '../../net/route.js';
import { baseEnvironment, findProgram, searchPath } from '../../process/environment.js';
import { runProcess } from '../../process/spawn.js';
import type { InstallEnvironment } from '../environment.js';
import { hideUser, type Protocol } from './location.js';

const TIMEOUT_MS = 15 * 60_000;
const OUTPUT_BYTES = 256 * 1024 * 1024;
// Network access and authentication; none of these variables makes git start a program.
const PASSED_VARIABLES = [
  'SSH_AUTH_SOCK',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'HTTPS_PROXY',
  'https_proxy',
  'http_proxy',
  'ALL_PROXY',
  'all_proxy',
  'NO_PROXY',
  'no_proxy',
];
const SAFE_SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.askPass=',
  'credential.helper=',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'fetch.fsckObjects=true',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
  'protocol.ext.allow=never',
  'http.followRedirects=false',
];

export interface GitOptions {
  /** The repository; also the working directory, so that git never searches for one. */
  readonly gitDirectory: string;
  readonly workTree?: string;
  /** The one protocol that git may use. */
  readonly protocol?: Protocol;
  readonly variables?: Readonly<Record<string, string>>;
  /** Git is stopped when its output is larger. */
  readonly outputBytes?: number;
  /** Called with each line of stderr. */
  readonly onLine?: (line: string) => void;
}

export async function runGit(
  { world, signal }: InstallEnvironment,
  { gitDirectory, workTree, protocol = 'none', variables, outputBytes = OUTPUT_BYTES, onLine }: GitOptions,
  args: readonly string[],
): Promise<{ ok: boolean; capped: boolean; stdout: Buffer; stderr: string }> {
  const binary = findProgram('git', searchPath(world));
  if (binary === undefined) {
    throw new ToolError('unavailable', 'git is not installed', {
      hint: 'install git, or add a local directory instead',
    });
  }
  const directories = [`--git-dir=${gitDirectory}`, ...(workTree === undefined ? [] : [`--work-tree=${workTree}`])];
  const outcome = await runProcess(
    {
      argv: [binary, ...SAFE_SETTINGS.flatMap((setting) => ['-c', setting]), ...directories, ...args],
      cwd: gitDirectory,
      environment: {
        ...baseEnvironment(world, PASSED_VARIABLES),
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_TERMINAL_PROMPT: '0',
        // Only the protocol of the source; none where git has no remote to talk to.
        GIT_ALLOW_PROTOCOL: protocol,
        GIT_SSH_COMMAND: 'ssh -oBatchMode=yes',
        GIT_NO_REPLACE_OBJECTS: '1',
        GIT_ATTR_NOSYSTEM: '1',
        GIT_LFS_SKIP_SMUDGE: '1',
        LC_ALL: 'C',
        ...variables,
      },
      stdin: '',
      timeoutMs: TIMEOUT_MS,
      outputBytes,
      signal,
      // With a listener, output over the limit does not stop git.
      onOutput:
        onLine &&
        ((chunk, from) => {
          if (from === 'stderr') for (const line of chunk.toString('utf8').split(/[\r\n]+/)) if (line) onLine(line);
        }),
    },
    world,
  );
  if (outcome.ending === 'cancelled')
    throw new ToolError('cancelled', 'git was cancelled', { hint: 'run the command again' });
  if (outcome.ending === 'timeout')
    throw new ToolError('timeout', 'git timed out', { hint: 'try again with a better connection' });
  return {
    ok: outcome.ending === 'exit' && outcome.exitCode === 0,
    capped: outcome.ending === 'capped',
    stdout: outcome.stdout,
    stderr: outcome.stderr.toString('utf8'),
  };
}

const AUTHENTICATION =
  /authentication failed|permission denied \(publickey|could not read (?:username|password)|returned error: 40[13]|invalid (?:username or password|credentials)|access denied|unable to authenticate/i;

const REMOTE_PROGRESS = /^remote: (?:(?:Enumerating|Counting|Compressing) objects|Total \d)/;

/** The error for a failed run of git; `data.auth` says whether access was denied. */
export function gitError(where: string, what: string, stderr: string): ToolError {
  const reasons = stderr
    .split(/[\r\n]+/)
    .filter((line) => /^(?:fatal|error|remote|ERROR)/.test(line) && !REMOTE_PROGRESS.test(line))
    .map((line) => line.replace(/^(?:fatal|error): /, ''));
  const text = quoteOutside(hideUser(reasons.join('; ') || 'git failed'), 300);
  return new ToolError('unavailable', `${what} ${hideUser(where)}: ${text}`, {
    hint: 'check the address, the connection and your read access',
    data: { auth: AUTHENTICATION.test(stderr) },
  });
}

/**
 * Returns the variables by which a fetch takes the way of other requests: the proxy and certificate authorities of the
 * settings (NET-5). None for other protocols than HTTP.
 */
export async function routeVariables(
  location: string,
  { network, paths }: Pick<InstallEnvironment, 'network' | 'paths'>,
): Promise<Record<string, string>> {
  if (!/^https?:/i.test(location)) return {};
  const { proxy, isExempt, authorities } = await network.findRoute(new URL(location));
  const way = proxy === undefined ? (isExempt ? AROUND : {}) : through(proxy);
  return {
    ...way,
    ...(authorities && { GIT_SSL_CAINFO: writeAuthorities(authorities, join(paths.sources, '..', 'cache')) }),
  };
}

const AROUND = { NO_PROXY: '*', no_proxy: '*' };

function through({ url, authorization }: ProxyServer) {
  const address = new URL(url);
  if (authorization !== undefined) {
    const pair = Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString('utf8');
    const at = pair.indexOf(':');
    address.username = encodeURIComponent(pair.slice(0, at));
    address.password = encodeURIComponent(pair.slice(at + 1));
  }
  const { href } = address;
  const method = { GIT_HTTP_PROXY_AUTHMETHOD: 'basic' };
  return { ...method, http_proxy: href, https_proxy: href, HTTPS_PROXY: href, NO_PROXY: '', no_proxy: '' };
}

// Git reads them from a file, which replaces those of the system.
function writeAuthorities(certificates: string, directory: string): string {
  const file = join(directory, `authorities-${digestParts([certificates]).slice(0, 16)}.pem`);
  if (statOrNothing(file) === undefined) {
    makeDirectory(directory);
    writeFileAtomic(file, certificates, { durable: false });
  }
  return file;
}
