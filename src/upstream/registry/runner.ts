// Checks what an entry of the MCP registry passes to the program that runs its package: npx, uvx, docker or podman.

import { LOADERS } from '../../process/environment.js';

export type Runner = 'npx' | 'uvx' | 'docker' | 'podman';

export interface RunnerInput {
  /** Arguments before the package. */
  readonly runtime: readonly string[];
  /** Arguments after it. */
  readonly own: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** What a person gives, in what is checked: no fixed text can be the same, because `${` in it is escaped. */
export const GIVEN = '${*}';

interface Options {
  /** Without a value. */
  readonly flags: RegExp;
  /** With a value, by what it may be. */
  readonly values: readonly (readonly [RegExp, (value: string, input: RunnerInput) => boolean])[];
  /** The option whose value is the package; the command follows. */
  readonly from?: RegExp;
}

// Everything else could give parts of this machine to a container, or run something else than the package.
const CONTAINER: Options = {
  flags: /^(?:-[it]{1,2}|--(?:interactive|tty|rm|init|read-only|quiet|no-healthcheck))$/,
  values: [
    [/^(?:-[uwmhl]|--(?:user|workdir|memory|hostname|label|name|cpus|memory-swap|shm-size|pids-limit))$/, isAnything],
    [/^--(?:tmpfs|platform|pull|entrypoint|cap-drop|ulimit|stop-timeout|stop-signal|expose)$/, isAnything],
    // Without a value, it is a variable of this machine.
    [/^(?:-e|--env)$/, (value, { env }) => value.includes('=') || Object.hasOwn(env, value)],
    [/^--net(?:work)?$/, (value) => /^(?:none|bridge)$/.test(value) || isGiven(value)],
    [/^--security-opt$/, (value) => /^no-new-privileges(?:[:=]true)?$/.test(value)],
    [/^(?:-v|--volume)$/, isOwnVolume],
    [/^--mount$/, isOwnMount],
  ],
};

const RUNNERS: Readonly<Record<Runner, Options>> = {
  npx: {
    flags: /^(?:-[yqs]|--(?:yes|quiet|silent|offline|prefer-offline|prefer-online|ignore-scripts))$/,
    values: [],
    from: /^(?:-p|--package)$/,
  },
  uvx: {
    flags: /^(?:-[qn]|--(?:quiet|no-cache|no-config|no-progress|isolated|offline|refresh|managed-python))$/,
    values: [
      [/^(?:-p|--python)$/, (value) => /^(?:(?:cpython|pypy)[@-]?)?[<>=~]{0,2}\d+(?:\.\d+){0,2}$/.test(value)],
      [/^--(?:default-index|index-url)$/, (value) => /^https:\/\/pypi\.org\/simple\/?$/.test(value)],
    ],
    from: /^--from$/,
  },
  docker: CONTAINER,
  podman: CONTAINER,
};

// Variables that change where a package comes from, what is run, or which engine runs it.
const STEERING =
  /^(?:NPM_|UV_|PIP_|DOCKER_|CONTAINERS?_|PODMAN_|BUILDAH_|XDG_|SSL_)|^(?:PATH|HOME|SHELL|NODE_PATH|NODE_EXTRA_CA_CERTS|NODE_TLS_REJECT_UNAUTHORIZED)$|^(?:HTTPS?|ALL|NO)_PROXY$/i;
const HARMLESS = /^PYTHON(?:UNBUFFERED|UTF8|IOENCODING|DONTWRITEBYTECODE|WARNINGS|HASHSEED)$/;

/** Returns which argument or variable an entry may not set, in words; undefined if there is none (UPS-95). */
export function findRunnerFault(runner: Runner, input: RunnerInput): string | undefined {
  const argument = findArgument(RUNNERS[runner], input);
  if (argument !== undefined) return `passes "${argument}" to ${runner}, which is yours to decide`;
  const variable = Object.keys(input.env).find((name) => isSteering(name) && !isGiven(input.env[name]!));
  if (variable === undefined) return undefined;
  return `sets ${variable} for ${runner}, which is yours to decide: pass --env ${variable}=VALUE`;
}

/** Whether a variable changes what a program or package runner runs. */
export function isSteering(name: string): boolean {
  return (LOADERS.test(name) || STEERING.test(name)) && !HARMLESS.test(name);
}

function findArgument({ flags, values, from }: Options, input: RunnerInput): string | undefined {
  const { runtime, own } = input;
  for (let at = 0; at < runtime.length; at++) {
    const word = runtime[at]!;
    if (flags.test(word)) continue;
    const isLast = at === runtime.length - 1;
    // The command of the package must not be an option of the runner.
    if (isLast && from?.test(word)) return /^[A-Za-z0-9]/.test(own[0] ?? '-') ? undefined : `${word} … ${own[0] ?? ''}`;
    const [name, ...rest] = word.startsWith('--') ? word.split('=') : [word];
    const inline = rest.length > 0 ? rest.join('=') : undefined;
    const value = inline ?? runtime[++at];
    const check = values.find(([option]) => option.test(name!))?.[1];
    if (check !== undefined && value !== undefined && check(value, input)) continue;
    return inline === undefined && check !== undefined ? `${word} ${value ?? ''}`.trim() : word;
  }
  return undefined;
}

function isAnything(): boolean {
  return true;
}

// A value of the person, or a variable that they set.
function isGiven(text: string): boolean {
  return text === GIVEN || /^\$\{\w+\}$/.test(text);
}

// `/data` alone is a new volume; before a colon is a directory or volume of this machine.
function isOwnVolume(value: string): boolean {
  if (isGiven(value) || /^\/[^:]*$/.test(value)) return true;
  const [, source, target] = /^(.+?):(\/[^:]*(?::(?:ro|rw|z|Z)(?:,(?:ro|rw|z|Z))*)?)$/.exec(value) ?? [];
  return target !== undefined && isGiven(source!);
}

function isOwnMount(value: string): boolean {
  if (isGiven(value)) return true;
  return value.split(',').every((part) => {
    const [key, ...rest] = part.split('=');
    const given = rest.join('=');
    if (/^(?:src|source)$/.test(key!)) return isGiven(given);
    if (key === 'type') return /^(?:bind|volume|tmpfs)$/.test(given);
    return /^(?:dst|target|destination|readonly|ro|tmpfs-size)$/.test(key!);
  });
}
