// The hosts that a sandboxed process may reach, as in `network = ["api.github.com:443", "*.npmjs.org"]` (EXE-84).

import { checked, list, text } from './shape.js';

/** Whether a process has the network: all of it, none, or some hosts as written. */
export type SandboxNetwork = boolean | readonly string[];

/** A host as a request names it: lower case, in punycode, without a trailing dot; an IPv6 address has brackets. */
export interface HostAddress {
  readonly host: string;
  readonly port: number;
}

interface HostRule extends HostAddress {
  /** Whether it means the names below `host`, and not `host` itself. */
  readonly isBelow: boolean;
}

/** What an entry without a port allows. */
const DEFAULT_PORTS = [443, 80];

const ENTRY = /^(\*\.)?(\[[^\]]*\]|[^[\]:/?#@\\*%\s\x00-\x1f]+)(?::(\d{1,5}))?$/;
const REQUESTED = /^(\[[\da-f:.]+\]|[a-z\d._-]+)(?::(\d{1,5}))?$/i;
const IPV4 = /^\d+\.\d+\.\d+\.\d+$/;

/** Whether an entry of a list is valid. */
export function isHostEntry(text: string): boolean {
  return parseEntry(text).length > 0;
}

/** A list of hosts in a file. */
export const HOSTS = list(
  checked(
    text('a host', /[\s\S]/),
    (entry, fail) => {
      if (!isHostEntry(entry))
        fail(
          [],
          'is not a host',
          'write a name, *.NAME for all names below it, or an address, each alone or with :PORT',
        );
    },
    { pattern: ENTRY.source },
  ),
);

/** Parses the `host:port` of a request; undefined if it is not exactly that. */
export function parseHostAddress(text: string, defaultPort?: number): HostAddress | undefined {
  const [, name = '', digits] = REQUESTED.exec(text) ?? [];
  const host = normalizeHost(name);
  const port = digits === undefined ? defaultPort : toPort(digits);
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** Whether a list has a host. An address must be listed as such. */
export function allowsHost(entries: readonly string[], { host, port }: HostAddress): boolean {
  return entries.flatMap(parseEntry).some((rule) => rule.port === port && covers(rule, { host, isBelow: false }));
}

/** Returns what two settings both allow; no host is no network. */
export function meetNetworks(a: SandboxNetwork, b: SandboxNetwork): SandboxNetwork {
  if (typeof a === 'boolean' || typeof b === 'boolean') return a === true ? orNone(b) : b === true ? orNone(a) : false;
  return orNone(meetHosts(a, b));
}

function orNone(network: SandboxNetwork): SandboxNetwork {
  return typeof network !== 'boolean' && network.length === 0 ? false : network;
}

/** Returns the hosts that are in both lists, each with its port. */
export function meetHosts(a: readonly string[], b: readonly string[]): readonly string[] {
  const [own, others] = [a.flatMap(parseEntry), b.flatMap(parseEntry)];
  const inside = (rules: readonly HostRule[], all: readonly HostRule[]): HostRule[] =>
    rules.filter((rule) => all.some((other) => other.port === rule.port && covers(other, rule)));
  return [...new Set([...inside(own, others), ...inside(others, own)].map(toEntry))];
}

/** Formats a host with its port. */
export function formatHost({ host, port }: HostAddress): string {
  return `${host}:${port}`;
}

function toEntry(rule: HostRule): string {
  return `${rule.isBelow ? '*.' : ''}${formatHost(rule)}`;
}

// Empty if the entry is invalid: it allows nothing.
function parseEntry(text: string): readonly HostRule[] {
  const [, wildcard, name = '', digits] = ENTRY.exec(text) ?? [];
  const host = normalizeHost(name);
  const isBelow = wildcard !== undefined;
  if (host === undefined || (isBelow && isAddress(host))) return [];
  const ports = digits === undefined ? DEFAULT_PORTS : [toPort(digits)].filter((port) => port !== undefined);
  return ports.map((port) => ({ host, port, isBelow }));
}

function covers(rule: HostRule, { host, isBelow }: Pick<HostRule, 'host' | 'isBelow'>): boolean {
  if (!rule.isBelow) return !isBelow && rule.host === host;
  return (isBelow && rule.host === host) || (!isAddress(host) && host.endsWith(`.${rule.host}`));
}

// The parser of URLs knows the other forms of names and addresses, such as `0x7f.1`.
function normalizeHost(name: string): string | undefined {
  const url = `http://${name.replace(/\.$/, '')}/`;
  if (name === '' || !URL.canParse(url)) return undefined;
  const { hostname } = new URL(url);
  return hostname === '' || hostname.split('.').includes('') ? undefined : hostname;
}

function isAddress(host: string): boolean {
  return host.startsWith('[') || IPV4.test(host);
}

function toPort(digits: string): number | undefined {
  const port = Number(digits);
  return port > 0 && port < 65_536 ? port : undefined;
}
