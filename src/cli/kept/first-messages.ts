// The first messages of a stdio connection: which of them have an answer that can be kept.

import { parseJson } from '../../core/json.js';
import { showsApps } from '../../mcp-server/apps.js';
import { createLineReader } from '../../mcp-server/line-reader.js';
import {
  findParamsFault,
  META,
  metaOf,
  PARAM_SHAPES,
  type Params,
  type RequestId,
  type RequestMessage,
  toMessage,
} from '../../mcp-server/message.js';
import { type Phase, toPhase } from '../../mcp-server/version.js';

/** A request whose answer depends only on its key and the toolbox. */
export interface FirstRequest {
  readonly id: RequestId;
  readonly key: string;
  /** Whether it lists the tools, after which clients do other things. */
  readonly isLast: boolean;
}

const MAX_BYTES = 64 * 1024;
const BOUNDS = { maxDepth: 64, maxBytes: MAX_BYTES };

/** Returns a function that takes the next chunk. `onOther` is called once, for the first message of another kind. */
export function readFirstMessages(onRequest: (request: FirstRequest) => void, onOther: () => void) {
  let phase: Phase = 'opening';
  let initialized: Params | undefined;
  let isDone = false;
  const end = (): void => {
    if (!isDone) onOther();
    isDone = true;
  };
  const onLine = (text: string): void => {
    if (isDone || text === '') return;
    const message = tryParse(text);
    if (message === undefined) return void end();
    const next = toPhase(phase, message);
    if (typeof next !== 'string') return void end();
    phase = next;
    if (message.id === undefined) {
      if (message.method !== 'notifications/initialized') end();
      return;
    }
    const request = message as RequestMessage;
    const isOlder = phase === 'older';
    if (request.method === 'initialize' && isOlder) initialized = request.params;
    const key = keyOf(request, isOlder, initialized?.capabilities);
    if (key === undefined) return void end();
    isDone = request.method === 'tools/list';
    onRequest({ id: request.id, key, isLast: isDone });
  };
  return createLineReader({ maxBytes: MAX_BYTES, onLine, onOversizedLine: end });
}

function tryParse(text: string) {
  try {
    const message = toMessage(parseJson(text, 'the message', BOUNDS));
    return message?.method === undefined ? undefined : message;
  } catch {
    return undefined;
  }
}

// Everything of a request that its answer depends on.
function keyOf({ method, params }: RequestMessage, isOlder: boolean, announced: unknown): string | undefined {
  const version = isOlder ? 'older' : 'newer';
  if (method === 'initialize' && findParamsFault(PARAM_SHAPES.initialize, params) === undefined)
    return `initialize ${params?.protocolVersion}`;
  if (method === 'server/discover' && !isOlder) return `discover ${version}`;
  if (method !== 'tools/list' || params?.cursor !== undefined) return undefined;
  const capabilities = isOlder ? announced : metaOf(params)?.[META.capabilities];
  return `list ${version}${showsApps(capabilities) ? ' apps' : ''}`;
}

/** Returns the beginning of the line that answers a request. */
export function answerHead(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`;
}
