// Sends spans and metrics in the background: bounded in memory and time, and never in the way of a call.

import { inBackground, pause } from '../core/async.js';
import { isToolError } from '../core/error.js';
import { memoize } from '../core/memoize.js';
import type { World } from '../core/snapshot.js';
import { deliveryReason } from '../net/fault.js';
import type { CreateFetch } from '../net/fetch.js';
import type { MetricFamily, ReadMetrics } from './metric.js';
import { type Resource, toMetrics, toSpanText, toTraces } from './otlp.js';
import { type OtelSettings, type OtlpEndpoint, toFetchOptions } from './settings.js';
import type { SpanQueue } from './tracer.js';

export interface ExporterOptions {
  readonly settings: OtelSettings;
  readonly version: string;
  readonly world: Pick<World, 'env' | 'debug'>;
  readonly createFetch: CreateFetch;
  readonly readMetrics: ReadMetrics;
  /** Whether there is anything to send that OpenTelemetry itself does not. */
  readonly hasMetrics: () => boolean;
  /** Called once for each endpoint that does not accept what it is sent. */
  readonly warn: (message: string) => void;
}

export interface Exporter extends SpanQueue {
  /** Loads what sends spans; called when the first one starts. */
  prepare(): void;
  /** How many spans were not sent. */
  families(): readonly MetricFamily[];
  /** Sends what is left, for at most a second. */
  close(): Promise<void>;
}

// Between two batches, so that a burst of calls does not spend its time on them.
const PAUSE_MS = 500;
const RETRY_MS = 5000;
const CLOSE_MS = 1000;
const STEP_MS = 50;

export function createExporter(options: ExporterOptions): Exporter {
  const { settings, world, readMetrics, warn } = options;
  const { queueSize, batchSize, delayMs, traces, metrics } = settings;
  const since = Date.now();
  const ending = new AbortController();
  const warned = new Set<string>();
  const resource: Resource = {
    'service.instance.id': crypto.randomUUID(),
    'service.version': options.version,
    'telemetry.sdk.name': 'wield',
    'telemetry.sdk.language': 'nodejs',
    'telemetry.sdk.version': options.version,
    'process.pid': process.pid,
    ...settings.resource,
  };
  // As bytes: objects and texts would be moved by the garbage collector until they are sent.
  const queue: Buffer[] = [];
  let origin = 0;
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let isSoon = false;
  let sending: Promise<void> | undefined;
  let measuring: Promise<void> | undefined;
  let isClosed = false;
  let loading: Loading | undefined;

  const admits = (): boolean => {
    if (queue.length < queueSize && !isClosed) return true;
    dropped++;
    return false;
  };
  // Few processes export anything. Those that do load it before they end.
  const load = () => {
    loading ??= Promise.all([import('./send.js'), import('../net/routes.js')]);
    return loading;
  };
  const wakeIn = (milliseconds: number): void => {
    clearTimeout(timer);
    timer = setTimeout(() => inBackground(sendSpans(), world.debug), milliseconds).unref();
  };
  const warnOnce = ({ url }: OtlpEndpoint, reason: string): void => {
    // Without the path and query, which may contain a key.
    const { origin } = new URL(url);
    if (!warned.has(origin)) warn(`telemetry was not accepted by ${origin}: ${reason}`);
    warned.add(origin);
  };
  // One for each, which keeps its connection.
  const fetchFor = memoize((endpoint: OtlpEndpoint) => options.createFetch(toFetchOptions(endpoint)));
  // Returns when it can be tried again, if it was not accepted and can be.
  const send = async (endpoint: OtlpEndpoint, toBody: ToBody): Promise<number | undefined> => {
    const [{ sendOtlp, RejectedError }] = await load();
    try {
      const body = toBody(resource, { name: 'wield', version: options.version });
      await sendOtlp(endpoint, body, { fetch: fetchFor(endpoint), signal: ending.signal });
      return undefined;
    } catch (thrown) {
      const hint = isToolError(thrown) ? thrown.hint : undefined;
      if (ending.signal.aborted) return undefined;
      warnOnce(endpoint, hint === undefined ? deliveryReason(thrown) : `${deliveryReason(thrown)}; ${hint}`);
      if (thrown instanceof RejectedError) return thrown.retryMs ?? 0;
      return RETRY_MS;
    }
  };
  // One batch at a time.
  const sendSpans = (): Promise<void> => {
    sending ??= sendBatch().finally(() => {
      sending = undefined;
    });
    return sending;
  };
  const sendBatch = async (): Promise<void> => {
    isSoon = false;
    const batch = queue.splice(0, batchSize);
    if (batch.length === 0) return;
    const retryMs = await send(traces!, (...given) => toTraces(batch, ...given));
    // The oldest are sent first, as long as there is room.
    if (retryMs && !isClosed && queue.length + batch.length <= queueSize) queue.unshift(...batch);
    else if (retryMs !== undefined) dropped += batch.length;
    if (queue.length > 0 && !isClosed) wakeSoon(retryMs || PAUSE_MS);
  };
  const wakeSoon = (milliseconds: number): void => {
    isSoon = true;
    wakeIn(milliseconds);
  };
  const sendMetrics = (): Promise<void> => {
    measuring ??= sendFamilies().finally(() => {
      measuring = undefined;
    });
    return measuring;
  };
  const sendFamilies = async (): Promise<void> => {
    if (!options.hasMetrics()) return;
    const families = await readMetrics();
    await send(metrics!, (...given) => toMetrics(families, ...given, since));
  };
  const interval =
    metrics && setInterval(() => inBackground(sendMetrics(), world.debug), settings.metricsIntervalMs).unref();

  return {
    prepare: () => void load(),
    admits,
    take(span) {
      // Others may have ended first.
      if (!admits()) return;
      if (queue.length % batchSize === 0) origin = Date.now() - performance.now();
      queue.push(Buffer.from(toSpanText(span, origin)));
      if (isSoon) return;
      if (queue.length >= batchSize) wakeSoon(0);
      else if (queue.length === 1) wakeIn(delayMs);
    },
    families: () => [
      {
        name: 'wield.telemetry.dropped',
        help: 'Spans that were not sent.',
        type: 'counter',
        points: [{ value: dropped }],
      },
    ],
    async close() {
      if (isClosed) return;
      isClosed = true;
      clearTimeout(timer);
      clearInterval(interval);
      // The time is for the receiver.
      if (loading !== undefined) await loading;
      const sendLast = async (): Promise<void> => {
        await sending;
        while (queue.length > 0) await sendSpans();
      };
      const measureLast = async (): Promise<void> => {
        await measuring;
        await sendMetrics();
      };
      let isDone = false;
      const all = Promise.allSettled([sendLast(), metrics && measureLast()]).then(() => {
        isDone = true;
      });
      // In steps: a machine that is busy for a while must not lose the answer that it has not read yet.
      for (let waited = 0; !isDone && waited < CLOSE_MS; waited += STEP_MS) await Promise.race([all, pause(STEP_MS)]);
      if (!isDone) warnOnce((traces ?? metrics)!, 'it did not answer in time, and this process ends');
      ending.abort();
    },
  };
}

type Loading = Promise<[typeof import('./send.js'), unknown]>;
type ToBody = (resource: Resource, scope: object) => Buffer;
