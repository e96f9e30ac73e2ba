// The key `audit.sinks`: where the lines of the audit log are sent.

import type { SinkSettings } from '../core/settings.js';
import { checked, list, object, oneOf, optional, type Shape, text } from '../core/shape.js';
import { maskAddress } from '../upstream/entries/mask.js';
import { HOOK_ADDRESS } from './approvals.js';
import { reference } from './openapi.js';

const KINDS = ['file', 'url', 'syslog', 'otlp'] as const;
const SYSLOG = /^(?:unix:\/\S+|(?:tcp|udp):\/\/[^\s/@]+:0*[1-9]\d{0,4})$/;

const sink: Shape<SinkSettings> = checked(
  object({
    file: optional(text('an absolute path or one that begins with ~/', /^~?\/[^\0]+$/)),
    url: optional(text('an address such as "https://siem.example.com/ingest"', HOOK_ADDRESS)),
    syslog: optional(text('an address such as "unix:/dev/log", "tcp://host:601" or "udp://host:514"', SYSLOG)),
    otlp: optional(oneOf(true)),
    secret: optional(reference),
    full: optional(oneOf('drop', 'block')),
  }),
  (given, fail) => {
    if (KINDS.filter((kind) => given[kind] !== undefined).length !== 1)
      fail([], 'must have one of file, url, syslog and otlp');
    if (given.secret !== undefined && given.url === undefined) fail(['secret'], 'needs a url');
    if (given.syslog?.includes('://') && !URL.canParse(given.syslog)) fail(['syslog'], 'is not an address with a port');
  },
  { oneOf: KINDS.map((kind) => ({ required: [kind] })), dependentRequired: { secret: ['url'] } },
);

export const auditSinks: Shape<readonly SinkSettings[]> = list(sink, 'an array of tables');

/** Masks secrets in addresses. */
export function maskSinks(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return value.map((one: SinkSettings) => (one.url === undefined ? one : { ...one, url: maskAddress(one.url) }));
}
