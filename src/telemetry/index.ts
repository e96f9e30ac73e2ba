// The telemetry of a toolbox: to OpenTelemetry if a program registered it, else over OTLP as the environment says (OBS-12).

import { addSecrets, type KnownSecrets } from '../core/redact.js';
import type { World } from '../core/snapshot.js';
import type { Telemetry } from '../core/telemetry.js';
import type { CreateFetch } from '../net/fetch.js';
import { createExporter } from './exporter.js';
import { createMeter } from './meter.js';
import type { ReadMetrics } from './metric.js';
import { createLoadSdk, isRegistered } from './sdk.js';
import { readOtelSettings, readsContents } from './settings.js';
import { OwnSpan } from './tracer.js';

export interface TelemetryOptions {
  readonly world: Pick<World, 'env' | 'debug'>;
  /** Whether the variables OTEL_* are followed. */
  readonly exports?: boolean | undefined;
  /** Whether calls are counted even if nothing is exported. */
  readonly counts?: boolean | undefined;
  readonly version: () => string;
  /** Values of headers are added. */
  readonly secrets: KnownSecrets;
  readonly createFetch: CreateFetch;
  readonly warn: (message: string) => void;
}

/** Telemetry with the metrics that were counted. */
export interface MeteredTelemetry extends Telemetry {
  readonly readMetrics: ReadMetrics;
  /** Adds metrics of what this process has now. */
  addMetrics(read: ReadMetrics): void;
}

export function createTelemetry(options: TelemetryOptions): MeteredTelemetry {
  const { world, warn } = options;
  const settings = options.exports ? readOtelSettings(world.env) : undefined;
  for (const endpoint of [settings?.traces, settings?.metrics])
    addSecrets(options.secrets, Object.values(endpoint?.headers ?? {}));
  for (const fault of settings?.faults ?? []) warn(`telemetry: ${fault}`);
  const meter = options.counts || settings?.metrics ? createMeter() : undefined;
  const loadSdk = createLoadSdk(world.debug);
  const sources: ReadMetrics[] = [];
  const readMetrics: ReadMetrics = async () => [
    ...(meter?.families() ?? []),
    ...(await Promise.all(sources.map((read) => read()))).flat(),
    ...(exporter?.families() ?? []),
  ];
  let isUsed = false;
  const isExporting = settings !== undefined && (settings.traces !== undefined || settings.metrics !== undefined);
  const exporter = isExporting
    ? createExporter({
        ...options,
        settings,
        version: options.version(),
        readMetrics,
        hasMetrics: () => isUsed && !isRegistered('metrics'),
      })
    : undefined;
  return {
    get isOn() {
      return meter !== undefined || exporter !== undefined || isRegistered('trace') || isRegistered('metrics');
    },
    recordsContents: readsContents(world.env),
    start(start) {
      const sdk = isRegistered('trace') ? loadSdk() : undefined;
      if (sdk !== undefined) return sdk.start(start);
      if (exporter === undefined) return undefined;
      if (!isUsed) exporter.prepare();
      isUsed = true;
      return settings?.traces && new OwnSpan(start, settings.sampling, exporter);
    },
    measure(operation, seconds) {
      isUsed = true;
      meter?.measure(operation, seconds);
      if (isRegistered('metrics')) loadSdk()?.measure(operation, seconds);
    },
    count(call) {
      isUsed = true;
      meter?.count(call);
    },
    readMetrics,
    addMetrics: (read) => void sources.push(read),
    close: async () => exporter?.close(),
  };
}
