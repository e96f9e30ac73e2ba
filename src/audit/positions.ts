// How far each sink of the configuration has got the audit log (OBS-11).

import { join } from 'node:path';
import type { SinkSettings } from '../core/settings.js';
import { integer, object } from '../core/shape.js';
import { hashTexts } from '../files/digest.js';
import { readStateAs } from '../files/read.js';

const POSITION = object(
  {
    version: integer(1),
    /** Number of a file. */
    file: integer(),
    offset: integer(),
    /** How often in a row it could not be sent, and when it is tried again, by all processes. */
    failures: integer(),
    retryAt: integer(),
  },
  { unknown: 'drop' },
);

/** Returns the path of the files about a sink, without their endings. A sink is known by its address. */
export function sinkPath(directory: string, { file, url, syslog }: SinkSettings): string {
  const kind = url !== undefined ? 'url' : file !== undefined ? 'file' : syslog !== undefined ? 'syslog' : 'otlp';
  return join(directory, 'sinks', `${kind}-${hashTexts([url ?? file ?? syslog ?? '']).slice(0, 16)}`);
}

export function readPosition(directory: string, sink: SinkSettings) {
  return readStateAs(POSITION, `${sinkPath(directory, sink)}.json`);
}

/** The longest time after which a sink is tried again. */
export const MAX_RETRY_MS = 60_000;

/**
 * Returns in how many milliseconds a sink is tried again. A time further in the future than that was stored before the
 * clock was set back, and counts as now.
 */
export function untilRetry(directory: string, sink: SinkSettings, now: number): number {
  const wait = (readPosition(directory, sink)?.retryAt ?? 0) - now;
  return wait > MAX_RETRY_MS ? 0 : Math.max(0, wait);
}

/** Names a sink without its credentials. */
export function describeSink({ file, url, syslog }: SinkSettings): string {
  if (url !== undefined) return new URL(url).origin;
  return file ?? syslog ?? 'the OpenTelemetry endpoint';
}

/** Returns the sink that blocks calls and is furthest behind, and the file that it needs next. A new one needs none yet. */
export function findSlowest(
  directory: string,
  sinks: readonly SinkSettings[],
): { readonly sink: SinkSettings; readonly file: number } | undefined {
  const found = sinks.flatMap((sink) => {
    const position = sink.full === 'block' ? readPosition(directory, sink) : undefined;
    return position === undefined ? [] : [{ sink, file: position.file }];
  });
  return found.sort((a, b) => a.file - b.file)[0];
}
