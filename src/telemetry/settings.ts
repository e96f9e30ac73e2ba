// What is sent where, as the variables OTEL_* of the environment say.

import { orNothing } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import { quoteOutside } from '../core/text.js';
import type { GuardedFetchOptions } from '../net/fetch.js';

export type Signal = 'TRACES' | 'METRICS' | 'LOGS';

/** The receiver of a signal. */
export interface OtlpEndpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly gzip: boolean;
}

/** Whether a trace is recorded: by the decision of its parent, and if it has none by the ratio. */
export interface Sampling {
  readonly parentBased: boolean;
  readonly ratio: number;
}

export interface OtelSettings {
  readonly traces?: OtlpEndpoint | undefined;
  readonly metrics?: OtlpEndpoint | undefined;
  readonly sampling: Sampling;
  readonly queueSize: number;
  readonly batchSize: number;
  readonly delayMs: number;
  readonly metricsIntervalMs: number;
  /** Attributes of this process. */
  readonly resource: Readonly<Record<string, string>>;
  /** What is wrong with the variables. */
  readonly faults: readonly string[];
}

type Env = World['env'];

const SAMPLERS: Readonly<Record<string, number | 'argument'>> = {
  always_on: 1,
  always_off: 0,
  traceidratio: 'argument',
};
const MAX_ANSWER_BYTES = 64 * 1024;
// Of timers.
const MOST = 2 ** 31 - 1;
const EXPORTED = { TRACES: '/v1/traces', METRICS: '/v1/metrics', LOGS: '/v1/logs' };

/** Reads the variables. Undefined if they name no endpoint, or OTEL_SDK_DISABLED is true. */
export function readOtelSettings(env: Env): OtelSettings | undefined {
  const faults = new Set<string>();
  const isNamed = [
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
  ].some((name) => Boolean(env[name]));
  if (!isNamed || env.OTEL_SDK_DISABLED?.trim().toLowerCase() === 'true') return undefined;
  const number = (name: string, fallback: number, least = 1): number => readNumber(env, name, fallback, least, faults);
  const attempt = (signal: Signal): OtlpEndpoint | undefined =>
    isExported(env, signal, faults) ? readEndpoint(env, signal, faults) : undefined;
  const queueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', 2048);
  return {
    traces: attempt('TRACES'),
    metrics: attempt('METRICS'),
    sampling: readSampling(env, faults),
    queueSize,
    batchSize: Math.min(queueSize, number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512)),
    delayMs: number('OTEL_BSP_SCHEDULE_DELAY', 5000, 0),
    metricsIntervalMs: number('OTEL_METRIC_EXPORT_INTERVAL', 60_000),
    resource: readResource(env, faults),
    faults: [...faults],
  };
}

/** Whether spans have arguments and results. */
export function readsContents(env: Env): boolean {
  const given = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.trim() ?? '';
  return /^(?:true|span_only|span_and_event)$/i.test(given);
}

/** Returns where a signal is sent; undefined if nothing says so. */
export function readEndpoint(env: Env, signal: Signal, faults = new Set<string>()): OtlpEndpoint | undefined {
  const nameOf = (name: string): string =>
    env[`OTEL_EXPORTER_OTLP_${signal}_${name}`] ? `OTEL_EXPORTER_OTLP_${signal}_${name}` : `OTEL_EXPORTER_OTLP_${name}`;
  const own = env[`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`];
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url = own || (base && `${base.replace(/\/+$/, '')}${EXPORTED[signal]}`);
  if (!url) return undefined;
  const name = `OTEL_EXPORTER_OTLP_${own ? `${signal}_` : ''}ENDPOINT`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    faults.add(`${name} is not an http:// or https:// address; write, for example, http://localhost:4318`);
    return undefined;
  }
  // Receivers of http/protobuf accept http/json at the same address.
  if (env[nameOf('PROTOCOL')]?.trim() === 'grpc') {
    faults.add('OTEL_EXPORTER_OTLP_PROTOCOL is grpc, which wield does not send; use http/json, usually at port 4318');
    return undefined;
  }
  return {
    url,
    headers: Object.fromEntries(readPairs(env, nameOf('HEADERS'), faults)),
    timeoutMs: readNumber(env, nameOf('TIMEOUT'), 10_000, 1, faults),
    gzip: env[nameOf('COMPRESSION')]?.trim() === 'gzip',
  };
}

/** Collectors are often in a private network, without TLS; headers may be credentials, and need it. */
export function toFetchOptions({ url, headers, timeoutMs }: OtlpEndpoint): GuardedFetchOptions {
  return { url, headers, allowPrivate: true, timeoutMs, maxBytes: MAX_ANSWER_BYTES };
}

/** Returns the attributes of this process. */
export function readResource(env: Env, faults = new Set<string>()): Readonly<Record<string, string>> {
  const given = Object.fromEntries(readPairs(env, 'OTEL_RESOURCE_ATTRIBUTES', faults));
  return { ...given, 'service.name': env.OTEL_SERVICE_NAME || given['service.name'] || 'wield' };
}

function isExported(env: Env, signal: Signal, faults: Set<string>): boolean {
  const name = `OTEL_${signal}_EXPORTER`;
  const names = (env[name] || 'otlp').split(',').map((one) => one.trim());
  if (names.includes('otlp')) return true;
  if (!names.includes('none')) faults.add(`${name} is ${quoteOutside(names.join(','), 40)}; wield has otlp and none`);
  return false;
}

function readSampling(env: Env, faults: Set<string>): Sampling {
  const given = env.OTEL_TRACES_SAMPLER?.trim() || 'parentbased_always_on';
  const parentBased = given.startsWith('parentbased_');
  const found = SAMPLERS[parentBased ? given.slice('parentbased_'.length) : given];
  if (found === undefined) {
    faults.add(`OTEL_TRACES_SAMPLER ${quoteOutside(given, 40)} is unknown; every trace is recorded`);
    return { parentBased: true, ratio: 1 };
  }
  if (found !== 'argument') return { parentBased, ratio: found };
  const argument = env.OTEL_TRACES_SAMPLER_ARG?.trim() || '1';
  const ratio = Number(argument);
  if (ratio >= 0 && ratio <= 1) return { parentBased, ratio };
  faults.add(
    `OTEL_TRACES_SAMPLER_ARG ${quoteOutside(argument, 40)} is not a number from 0 to 1; every trace is recorded`,
  );
  return { parentBased, ratio: 1 };
}

function readNumber(env: Env, name: string, fallback: number, least: number, faults: Set<string>): number {
  const text = env[name]?.trim();
  if (!text) return fallback;
  const value = Number(text);
  if (Number.isInteger(value) && value >= least && value <= MOST) return value;
  faults.add(`${name} ${quoteOutside(text, 40)} is not a whole number from ${least} to ${MOST}; ${fallback} is used`);
  return fallback;
}

// The form of W3C Baggage: `name=value,other=value`, percent-encoded.
function readPairs(env: Env, variable: string, faults: Set<string>): [string, string][] {
  const pairs = (env[variable] ?? '').split(',').filter((pair) => pair.trim() !== '');
  return pairs.flatMap((pair): [string, string][] => {
    const [name, value] = pair.split(/=(.*)/s).map((part) => orNothing(() => decodeURIComponent(part.trim())));
    if (name && value !== undefined) return [[name, value]];
    // Not shown: it may be a credential.
    faults.add(`${variable} has a pair that is not name=value, percent-encoded (% is %25); it is left out`);
    return [];
  });
}
