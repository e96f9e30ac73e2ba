// Classifies IP addresses and host names: public, private, loopback or forbidden (A54).

/** Which addresses may be reached; each value includes the ones before it. */
export type Reach = 'public' | 'private' | 'loopback';

export type AddressClass = Reach | 'forbidden';

export interface Classification {
  readonly class: AddressClass;
  /** For messages: `a link-local address`. */
  readonly label: string;
}

type Range = readonly [network: string, bits: number, classification: Classification];

const forbidden = (label: string): Classification => ({ class: 'forbidden', label });
const METADATA = forbidden('a cloud metadata address');
const PRIVATE: Classification = { class: 'private', label: 'a private address' };
const LOOPBACK: Classification = { class: 'loopback', label: 'a loopback address' };
const PUBLIC: Classification = { class: 'public', label: 'a public address' };

// The first match wins.
const RANGES_4: readonly Range[] = [
  ['169.254.169.254', 32, METADATA],
  ['100.100.100.200', 32, METADATA],
  ['168.63.129.16', 32, METADATA],
  ['192.0.0.192', 32, METADATA],
  ['169.254.0.0', 16, forbidden('a link-local address')],
  ['0.0.0.0', 8, forbidden('an unspecified address')],
  ['224.0.0.0', 4, forbidden('a multicast address')],
  ['255.255.255.255', 32, forbidden('the broadcast address')],
  ['240.0.0.0', 4, forbidden('a reserved address')],
  ['127.0.0.0', 8, LOOPBACK],
  ['10.0.0.0', 8, PRIVATE],
  ['172.16.0.0', 12, PRIVATE],
  ['192.168.0.0', 16, PRIVATE],
  ['100.64.0.0', 10, PRIVATE],
  ['192.0.0.0', 24, PRIVATE],
  ['198.18.0.0', 15, PRIVATE],
];
const RANGES_6: readonly Range[] = [
  ['fd00:ec2::254', 128, METADATA],
  ['fd20:ce::254', 128, METADATA],
  ['::', 128, forbidden('an unspecified address')],
  ['::1', 128, LOOPBACK],
  ['fe80::', 10, forbidden('a link-local address')],
  ['ff00::', 8, forbidden('a multicast address')],
  ['fc00::', 7, PRIVATE],
  ['fec0::', 10, PRIVATE],
];
// IPv6 ranges that embed an IPv4 address: mapped, translated, compatible, NAT64 and 6to4.
const EMBEDDED: readonly (readonly [network: string, bits: number, at: number])[] = [
  ['::ffff:0:0', 96, 12],
  ['::ffff:0:0:0', 96, 12],
  ['64:ff9b::', 96, 12],
  ['64:ff9b:1::', 48, 12],
  ['::', 96, 12],
  ['2002::', 16, 2],
];
// The prefix of IPv4 addresses in IPv6.
const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
const TEREDO: readonly [network: string, bits: number] = ['2001::', 32];

const METADATA_NAMES = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
]);
// Names that are not in public DNS.
const PRIVATE_NAME = /^[^.]+$|\.(?:local|internal|lan|home|corp|intranet|private|home\.arpa)$/;

/** Classifies an IP address; an invalid one is forbidden. */
export function classifyAddress(address: string): Classification {
  const bytes = parseAddress(address);
  if (bytes === undefined) return forbidden('not an IP address');
  const found = find(bytes.length === 4 ? RANGES_4 : RANGES_6, bytes);
  if (found !== undefined) return found;
  if (bytes.length === 4) return PUBLIC;
  for (const [network, bits, at] of EMBEDDED) {
    if (isWithin(bytes, network, bits)) return classifyEmbedded(bytes.slice(at, at + 4));
  }
  // Teredo carries the client's address inverted.
  if (isWithin(bytes, ...TEREDO)) return classifyEmbedded(bytes.slice(12).map((byte) => byte ^ 0xff));
  return PUBLIC;
}

/** Classifies the host of a URL by its address or its name. */
export function classifyHost(hostname: string): Classification {
  const host = bareHost(hostname);
  if (parseAddress(host) !== undefined) return classifyAddress(host);
  if (METADATA_NAMES.has(host)) return METADATA;
  if (host === 'localhost' || host.endsWith('.localhost')) return LOOPBACK;
  return PRIVATE_NAME.test(host) ? PRIVATE : PUBLIC;
}

/** Normalizes the host of a URL for lookup: no brackets, no trailing dots, lower case. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.+$/, '')
    .toLowerCase();
}

const LEVELS: Readonly<Record<Reach, number>> = { public: 0, private: 1, loopback: 2 };

/** Whether an address of a class may be reached. */
export function isWithinReach(found: AddressClass, reach: Reach): boolean {
  return found !== 'forbidden' && LEVELS[found] <= LEVELS[reach];
}

function classifyEmbedded(bytes: readonly number[]): Classification {
  return find(RANGES_4, bytes) ?? PUBLIC;
}

function find(ranges: readonly Range[], bytes: readonly number[]): Classification | undefined {
  return ranges.find(([network, bits]) => isWithin(bytes, network, bits))?.[2];
}

function isWithin(bytes: readonly number[], network: string, bits: number): boolean {
  return hasPrefix(bytes, parseAddress(network)!, bits);
}

function hasPrefix(bytes: readonly number[], base: readonly number[], bits: number): boolean {
  return base.every((byte, at) => {
    const mask = (0xff00 >> Math.min(8, Math.max(0, bits - at * 8))) & 0xff;
    return (bytes[at]! & mask) === (byte & mask);
  });
}

/** Whether an address is one of addresses and ranges such as `10.0.0.0/8`. */
export function isAmong(address: string, ranges: readonly string[]): boolean {
  const bytes = parsePlain(address);
  return ranges.some((range) => {
    const [network = '', bits = '128'] = range.split('/');
    const base = parseAddress(network);
    // A mapped range has mapped addresses.
    const of = base?.length === 16 && bytes?.length === 4 ? [...MAPPED, ...bytes] : bytes;
    return of !== undefined && base?.length === of.length && hasPrefix(of, base, Number(bits));
  });
}

/** Returns an address as it is written: an IPv4 address also if it is mapped to IPv6, without a zone; undefined if it is not one. */
export function normalizeAddress(text: string): string | undefined {
  const bytes = parsePlain(text);
  if (bytes === undefined) return undefined;
  return bytes.length === 4 ? bytes.join('.') : text.replace(/%.*$/, '').toLowerCase();
}

function parsePlain(text: string): readonly number[] | undefined {
  const bytes = parseAddress(text);
  return bytes?.length === 16 && isWithin(bytes, '::ffff:0:0', 96) ? bytes.slice(12) : bytes;
}

/** Returns the 4 or 16 bytes of an IP address, or undefined. */
export function parseAddress(text: string): readonly number[] | undefined {
  if (!text.includes(':')) return parse4(text);
  // The zone of a link-local address only names the interface.
  const [head = '', tail, ...more] = text.replace(/%.*$/, '').split('::');
  if (more.length > 0) return undefined;
  const front = parseGroups(head);
  const back = parseGroups(tail ?? '');
  if (front === undefined || back === undefined) return undefined;
  const missing = 16 - front.length - back.length;
  if (tail === undefined ? missing !== 0 : missing < 2) return undefined;
  return [...front, ...Array<number>(missing).fill(0), ...back];
}

function parseGroups(text: string): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [at, group] of groups.entries()) {
    const dotted = at === groups.length - 1 && group.includes('.') ? parse4(group) : undefined;
    if (dotted !== undefined) bytes.push(...dotted);
    else if (/^[0-9a-f]{1,4}$/i.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else return undefined;
  }
  return bytes;
}

function parse4(text: string): number[] | undefined {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return undefined;
  return parts.map(Number);
}
