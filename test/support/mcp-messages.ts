// Random MCP messages of both protocol versions: valid, malformed and out of order.

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const CLIENT = 'io.modelcontextprotocol/clientInfo';

export const OLDER = '2025-11-25';
export const NEWER = '2026-07-28';

/** A random number generator with a seed (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)]!;
  }
}

type Node = Record<string, unknown>;

const NAMES = ['echo', 'fail', 'object', 'list', 'number', 'picture', 'silent', 'steps', 'absent', '__proto__', ''];
const INPUTS: readonly unknown[] = [
  {},
  { text: 'Ada' },
  { text: 'ä"\\\n\u2028' },
  { text: 7 },
  { text: null },
  { other: 1 },
  { text: { deep: [1, { a: null }] } },
];
const OTHERS = [
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'resources/subscribe',
  'subscriptions/listen',
  'prompts/list',
  'prompts/get',
  'logging/setLevel',
  'completion/complete',
  'tasks/get',
  'no/method',
  '',
];
const CLIENT_INFOS = [
  { name: 'c', version: '1' },
  { name: 'c', version: '1', title: 't', icons: [{ src: 's' }] },
];
const CLIENT_CAPABILITIES = [{}, { roots: { listChanged: true } }, { experimental: { a: {} }, sampling: {} }];
const VERSIONS = [OLDER, '2025-06-18', '2024-11-05', NEWER, '1999-01-01'];
const ODD: readonly unknown[] = [null, true, 0, -1, 1.5, '', 'x', [], {}, [1], { a: 1 }, 1e300, '__proto__'];

/** Returns the parameters of the newer version with its envelope. */
function withEnvelope(random: Random, params: Node, version: string = NEWER): Node {
  const meta: Node = {
    ...(params._meta as Node),
    [VERSION]: version,
    [CAPABILITIES]: random.pick(CLIENT_CAPABILITIES),
  };
  if (random.chance(0.5)) meta[CLIENT] = random.pick(CLIENT_INFOS);
  if (random.chance(0.05)) meta['io.modelcontextprotocol/logLevel'] = random.pick(['debug', 'loud']);
  return { ...params, _meta: meta };
}

export function initializeMessage(random: Random, id: unknown): Node {
  const params = {
    protocolVersion: random.pick(VERSIONS),
    capabilities: random.pick(CLIENT_CAPABILITIES),
    clientInfo: random.pick(CLIENT_INFOS),
  };
  return { jsonrpc: '2.0', id, method: 'initialize', params };
}

function callParams(random: Random): Node {
  const params: Node = { name: random.pick(NAMES) };
  if (random.chance(0.9)) params.arguments = random.pick(INPUTS);
  if (random.chance(0.2)) params._meta = { progressToken: random.pick([1, 'p']), traceparent: 'x' };
  // The server of the SDK makes no tasks, so the answers differ for a valid one.
  if (random.chance(0.03)) params.task = { ttl: 'no' };
  if (random.chance(0.03)) params.requestState = random.pick(['v1.x.y', 'no', 7]);
  if (random.chance(0.03)) params.inputResponses = { a: { action: 'accept' } };
  return params;
}

const KINDS = ['tools', 'prompts', 'resources'];

// At least one kind: the server of the SDK keeps a subscription to nothing open, and acknowledges every URI.
function listenParams(random: Random): Node {
  const notifications: Node = { [`${random.pick(KINDS)}ListChanged`]: true };
  for (const kind of KINDS)
    if (random.chance(0.3)) notifications[`${kind}ListChanged`] ??= random.pick([true, false, undefined]);
  if (random.chance(0.2)) notifications.resourceSubscriptions = random.pick<unknown>([[], 'x', [1], null]);
  if (random.chance(0.1)) notifications.other = random.pick(ODD);
  return { notifications };
}

function validMessage(random: Random, id: unknown, isNewer: boolean): Node {
  const turn = random.next();
  const wrap = (params: Node): Node => (isNewer ? withEnvelope(random, params) : params);
  const request = (method: string, params?: Node): Node => ({
    jsonrpc: '2.0',
    id,
    method,
    ...(params === undefined && !isNewer ? {} : { params: wrap(params ?? {}) }),
  });
  if (turn < 0.4) return request('tools/call', callParams(random));
  if (turn < 0.55)
    return request('tools/list', random.chance(0.7) ? undefined : { cursor: random.pick(['from:0', 'x', 'from:9']) });
  if (turn < 0.59) return request('ping');
  if (turn < 0.62) return request('subscriptions/listen', listenParams(random));
  if (turn < 0.7) return request('server/discover', {});
  if (turn < 0.76) return initializeMessage(random, id);
  if (turn < 0.8) return { jsonrpc: '2.0', method: 'notifications/initialized' };
  if (turn < 0.86)
    return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: random.pick([id, 1, 'x']) } };
  if (turn < 0.9) return { jsonrpc: '2.0', id, result: {} };
  return request(random.pick(OTHERS), random.pick([undefined, {}, { name: 'a' }]));
}

// Replaces, removes or adds a member somewhere in the message.
function mutate(random: Random, message: Node): Node {
  const copy = structuredClone(message);
  let node: Node = copy;
  for (;;) {
    const inner = Object.values(node).filter((value) => typeof value === 'object' && value !== null);
    if (inner.length === 0 || random.chance(0.4)) break;
    node = random.pick(inner) as Node;
  }
  const key = random.pick([...Object.keys(node), 'extra']);
  if (random.chance(0.3)) delete node[key];
  else node[key] = random.pick(ODD);
  return copy;
}

function asksForTask({ params }: Node): boolean {
  const { task } = (params ?? {}) as Node;
  if (typeof task !== 'object' || task === null || Array.isArray(task)) return false;
  const { ttl } = task as Node;
  return ttl === undefined || typeof ttl === 'number';
}

function listensToNothing({ method, params }: Node): boolean {
  const { notifications } = (params ?? {}) as Node;
  if (method !== 'subscriptions/listen' || typeof notifications !== 'object' || notifications === null) return false;
  return KINDS.every((kind) => (notifications as Node)[`${kind}ListChanged`] !== true);
}

function toText(random: Random, message: Node): string {
  const text = JSON.stringify(message);
  if (random.chance(0.97)) return text;
  const at = random.below(text.length);
  return random.pick([
    text.slice(0, at),
    text.replace('{', '{"jsonrpc":"2.0",'),
    `${text.slice(0, at)}${random.pick(['"', '{', ',', '\u0000', '[['])}${text.slice(at)}`,
    `[${text}]`,
    `${'['.repeat(70)}${']'.repeat(70)}`,
  ]);
}

export interface GeneratedMessage {
  readonly text: string;
  /** The message before its text was damaged. */
  readonly message: Node;
}

/** Returns the next message of a connection that mostly uses one protocol version. `id` is new to it, and above 0. */
export function nextMessage(random: Random, id: unknown, isNewer: boolean): GeneratedMessage {
  const other = random.chance(0.1) ? !isNewer : isNewer;
  const valid = validMessage(random, id, other);
  const mutated = random.chance(0.3) ? mutate(random, valid) : valid;
  // A subscription stays open, and the server of the SDK does not mind another request with its id.
  const isOpen = mutated.method === 'subscriptions/listen' && mutated.id !== id;
  const message = isOpen || asksForTask(mutated) || listensToNothing(mutated) ? valid : mutated;
  return { message, text: toText(random, message).replaceAll('\n', ' ') };
}
