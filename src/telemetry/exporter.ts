// Sends spans and metrics in the background: bounded in memory and time, and never in the way of a call.

import { inBackground, pause } from '../core/async.js';
import { toToolError } from '../core/error.js';
import type { World } from '../core/snapshot.js';
import type { CreateFetch } from '../net/fetch.js';
import type { MetricFamily, ReadMetrics } from './metric.js';
import type { Resource } from './otlp.js';
import { type OtelSettings, type OtlpEndpoint, readResource } from './settings.js';
import type { EndedSpan, TakeSpan } from './tracer.js';

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

export interface Exporter {
  /** Loads what sends spans; called when the first one starts. */
  prepare(): void;
  readonly take: TakeSpan;
  /** How many spans were not sent. */
  families(): readonly MetricFamily[];
  /** Sends what is left, for at most a second. */
  close(): Promise<void>;
}

// Between two batches, so that a burst of calls does not spend its time on them.
const PAUSE_MS = 100;
const RETRY_MS = 5000;
const CLOSE_MS = 1000;
const STEP_MS = 50;

export function createExporter(options: ExporterOptions): Exporter {
  const { settings, world, readMetrics, warn } = options;
  const { queueSize, batchSize, delayMs, traces, metrics } = settings;
  const since = Date.now();
  const ending = new AbortController();
  const warned = new Set<string>();
  const instance = crypto.randomUUID();
  let queue: EndedSpan[] = [];
  let dropped = 0;
  let timer: NodeJS.Timeout | undefined;
  let isSoon = false;
  let sending: Promise<void> | undefined;
  let measuring: Promise<void> | undefined;
  let isClosed = false;
  let loading: Loading | undefined;

  // Few processes export anything. Those that do load it before they end.
  const load = () => {
    loading ??= Promise.all([import('./send.js'), import('./otlp.js'), import('../net/routes.js')]);
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
  // Returns when it can be tried again, if it was not accepted and can be.
  const send = async (endpoint: OtlpEndpoint, toBody: ToBody): Promise<number | undefined> => {
    const [{ sendOtlp, RejectedError }, otlp] = await load();
    const resource = {
      'service.instance.id': instance,
      'service.version': options.version,
      'telemetry.sdk.name': 'wield',
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.version': options.version,
      'process.pid': process.pid,
      ...readResource(world.env),
    };
    try {
      const body = toBody(otlp, resource, { name: 'wield', version: options.version });
      await sendOtlp(endpoint, body, { createFetch: options.createFetch, signal: ending.signal });
      return undefined;
    } catch (thrown) {
      const error = toToolError(thrown);
      if (ending.signal.aborted) return undefined;
      warnOnce(endpoint, error.hint === undefined ? error.message : `${error.message}; ${error.hint}`);
      if (error instanceof RejectedError) return error.retryMs ?? 0;
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
    if (queue.length === 0) return;
    const batch = queue.slice(0, batchSize);
    queue = queue.slice(batchSize);
    const retryMs = await send(traces!, ({ toTraces }, ...given) => toTraces(batch, ...given));
    if (retryMs === undefined) {
      if (queue.length > 0 && !isClosed) wakeSoon(PAUSE_MS);
      return;
    }
    // The oldest are sent first, as long as there is room.
    const kept = retryMs > 0 && !isClosed ? batch.slice(0, Math.max(0, queueSize - queue.length)) : [];
    dropped += batch.length - kept.length;
    queue = [...kept, ...queue];
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
    await send(metrics!, ({ toMetrics }, ...given) => toMetrics(families, ...given, since));
  };
  const interval =
    metrics && setInterval(() => inBackground(sendMetrics(), world.debug), settings.metricsIntervalMs).unref();

  return {
    prepare: () => void load(),
    take(toSpan) {
      if (queue.length >= queueSize || isClosed) {
        dropped++;
        return;
      }
      queue.push(toSpan());
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

type Loading = Promise<[typeof import('./send.js'), typeof import('./otlp.js'), unknown]>;
type ToBody = (otlp: typeof import('./otlp.js'), resource: Resource, scope: object) => object;
