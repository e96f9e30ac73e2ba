// Sends the request of a plan, and turns the response into output.

import { orNothing, ToolError } from '../../core/error.js';
import type { CallScope } from '../../core/executor.js';
import { parseOutput } from '../../core/json.js';
import type { HttpPlan } from '../../core/plan.js';
import { addSecrets, type KnownSecrets, redactOutput } from '../../core/redact.js';
import { type Output, type Part, textPart } from '../../core/result.js';
import { runWithinLimit } from '../../core/time-limit.js';
import { type CreateFetch, createGuardedFetch, type Fetch } from '../../net/fetch.js';

/** Options of `createHttpExecutor`. */
export interface HttpRunOptions {
  /** Replaces references to secrets. Throws `unavailable` if one has no value. */
  readonly expand: (
    plan: HttpPlan,
    scope: Pick<CallScope, 'snapshot' | 'options'>,
  ) => Promise<{ readonly values: readonly string[]; readonly secrets: readonly string[] }>;
  /** Secrets in use, which no output contains. */
  readonly secrets: KnownSecrets;
  /** Creates what sends requests; by default, they are sent directly. */
  readonly createFetch?: CreateFetch;
}

const NO_CREDENTIALS = { values: [], secrets: [] };

/** A fetch for each server and limit, whose connections are used again. */
export type Fetches = Map<string, Fetch>;

function fetchFor(
  { server, outputBytes, credentials }: HttpPlan,
  fetches: Fetches,
  { createFetch = createGuardedFetch }: HttpRunOptions,
): Fetch {
  const confidential = credentials.length > 0;
  const key = `${outputBytes} ${confidential} ${server}`;
  const known = fetches.get(key) ?? createFetch({ url: server, maxBytes: outputBytes, confidential });
  fetches.set(key, known);
  return known;
}

/** Sends a request. A response with an error status is an Output with an error. */
export async function runRequest(
  plan: HttpPlan,
  scope: CallScope,
  fetches: Fetches,
  options: HttpRunOptions,
): Promise<Output> {
  const { values, secrets } = plan.credentials.length === 0 ? NO_CREDENTIALS : await options.expand(plan, scope);
  // A server that repeats the header of a request repeats its encoded form.
  const encoded = values.map((value) => Buffer.from(value).toString('base64'));
  addSecrets(options.secrets, [...secrets, ...values, ...encoded]);
  const { url, headers } = withCredentials(plan, values);
  const output = await runWithinLimit(plan, scope, () =>
    exchange(plan, url, headers, fetchFor(plan, fetches, options), scope.controller.signal),
  );
  return redactOutput(output, options.secrets.all);
}

async function exchange(
  plan: HttpPlan,
  url: string,
  headers: Readonly<Record<string, string>>,
  send: Fetch,
  signal: AbortSignal,
): Promise<Output> {
  const { method, body } = plan;
  const bytes = body === undefined ? undefined : 'text' in body ? body.text : Buffer.from(body.base64, 'base64');
  const response = await send(url, { method, headers, signal, ...(bytes === undefined ? {} : { body: bytes }) });
  const received = Buffer.from(await response.arrayBuffer());
  const output = toOutput(received, response.headers.get('content-type') ?? '', plan);
  return response.ok ? output : { ...output, structured: undefined, error: failed(plan, response) };
}

function withCredentials(
  { url, headers, credentials }: HttpPlan,
  values: readonly string[],
): { readonly url: string; readonly headers: Readonly<Record<string, string>> } {
  const query: string[] = [];
  const cookies = headers.cookie === undefined ? [] : [headers.cookie];
  const sent: Record<string, string> = { ...headers };
  for (const [at, { scheme }] of credentials.entries()) {
    const value = values[at]!;
    const { kind, parameter } = scheme;
    if (kind === 'bearer') sent.authorization = /^\w+ /.test(value) ? value : `Bearer ${value}`;
    else if (kind === 'basic')
      sent.authorization = /^Basic /i.test(value) ? value : `Basic ${Buffer.from(value).toString('base64')}`;
    else if (scheme.in === 'header') sent[parameter.toLowerCase()] = value;
    else if (scheme.in === 'query') query.push(`${encodeURIComponent(parameter)}=${encodeURIComponent(value)}`);
    else cookies.push(`${encodeURIComponent(parameter)}=${encodeURIComponent(value)}`);
  }
  if (cookies.length > 0) sent.cookie = cookies.join('; ');
  return { url: query.length === 0 ? url : `${url}${url.includes('?') ? '&' : '?'}${query.join('&')}`, headers: sent };
}

function toOutput(bytes: Buffer, contentType: string, { url }: HttpPlan): Output {
  const type = contentType.split(';')[0]!.trim().toLowerCase();
  if (bytes.length === 0) return { content: [textPart('')] };
  if (/^image\/(?!svg)/.test(type)) return { content: [media('image', bytes, type)] };
  if (type.startsWith('audio/')) return { content: [media('audio', bytes, type)] };
  if (type !== '' && !/json|text|xml|yaml|javascript|csv|urlencoded|html/.test(type)) {
    const resource = { uri: url, mimeType: type, blob: bytes.toString('base64') };
    return { content: [{ type: 'resource', resource }] };
  }
  const text = decodeText(bytes, contentType);
  const structured = /json/.test(type) || type === '' ? parseOutput(text) : undefined;
  return { content: [textPart(text)], ...(structured === undefined ? {} : { structured }) };
}

// UTF-8 if there is no charset, or an unknown one. A byte order mark is not part of the text.
function decodeText(bytes: Buffer, contentType: string): string {
  const [, charset] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(contentType) ?? [];
  const decoder = orNothing(() => new TextDecoder(charset)) ?? new TextDecoder();
  return decoder.decode(bytes);
}

function media(type: 'image' | 'audio', bytes: Buffer, mimeType: string): Part {
  return { type, data: bytes.toString('base64'), mimeType };
}

function failed({ tool, method, url, credentials }: HttpPlan, { status, statusText, headers }: Response): ToolError {
  const wait = headers.get('retry-after');
  const document = tool.action.kind === 'http' ? tool.action.document : tool.name;
  const key = /^[\w-]+$/.test(document) ? document : JSON.stringify(document);
  const isRefused = status === 401 || status === 403;
  const hint = isRefused
    ? credentials.length === 0
      ? `set server and auth in [openapi.${key}] of ~/.wield/config.toml, e.g. auth = "\${TOKEN}"`
      : `check the value of auth in [openapi.${key}]`
    : status === 429 || status === 503
      ? `try again ${wait !== null && /^\d{1,6}$/.test(wait) ? `in ${wait} s` : 'later'}`
      : 'see its output; change the input';
  return new ToolError(
    'tool_failed',
    `${tool.name} was answered with ${status}${statusText === '' ? '' : ` ${statusText}`}`,
    {
      hint,
      data: { status, method, url },
    },
  );
}
