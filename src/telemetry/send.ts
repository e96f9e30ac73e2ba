// Sends one OTLP/HTTP request. Throws if it is not accepted.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { orNothing, ToolError } from '../core/error.js';
import { isRecord } from '../core/json.js';
import { quoteOutside } from '../core/text.js';
import type { Fetch } from '../net/fetch.js';
import type { OtlpEndpoint } from './settings.js';

/** An endpoint did not accept a request. */
export class RejectedError extends ToolError {
  /** Milliseconds after which it can be sent again; undefined if it never can. */
  readonly retryMs: number | undefined;

  constructor(message: string, retryMs?: number, data?: Record<string, number>) {
    super('unavailable', message, { data });
    this.retryMs = retryMs;
  }
}

const RETRY_MS = 5000;
const MAX_RETRY_MS = 60_000;
// As the protocol says.
const RETRYABLE = [429, 502, 503, 504];

export interface SendOtlpOptions {
  /** Made of `toFetchOptions`. */
  readonly fetch: Fetch;
  readonly signal: AbortSignal;
}

/** Sends a body, as JSON. */
export async function sendOtlp(
  endpoint: OtlpEndpoint,
  json: Buffer,
  { fetch, signal }: SendOtlpOptions,
): Promise<void> {
  const sent = endpoint.gzip ? await promisify(gzip)(json) : json;
  const encoding: Record<string, string> = endpoint.gzip ? { 'content-encoding': 'gzip' } : {};
  const response = await fetch(endpoint.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...encoding },
    body: sent,
    signal,
  });
  const text = await response.text().catch(() => '');
  if (!response.ok) throw new RejectedError(`status ${response.status}`, findRetry(response));
  // Another server at that address answers 200 to everything, with a page.
  const answer = text.trim() === '' ? {} : orNothing(() => JSON.parse(text) as unknown);
  if (!isRecord(answer)) throw new RejectedError('its answer is not that of an OTLP receiver');
  const { partialSuccess } = answer;
  if (!isRecord(partialSuccess)) return;
  const { rejectedSpans, rejectedDataPoints, rejectedLogRecords, errorMessage } = partialSuccess;
  const rejected = Number(rejectedSpans ?? rejectedDataPoints ?? rejectedLogRecords ?? 0);
  if (rejected > 0)
    throw new RejectedError(`it rejected ${rejected}: ${quoteOutside(String(errorMessage), 200)}`, undefined, {
      rejected,
    });
}

function findRetry({ status, headers }: Response): number | undefined {
  if (!RETRYABLE.includes(status)) return undefined;
  const seconds = Number(headers.get('retry-after') ?? '');
  return seconds > 0 ? Math.min(MAX_RETRY_MS, seconds * 1000) : RETRY_MS;
}
