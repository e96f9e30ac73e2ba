// What is sent elsewhere: messages about waiting calls (`approvals.notify`) and the lines of the audit log (`audit.sinks`).

import { isRecord } from '../core/json.js';
import type { NotifySettings, SinkSettings } from '../core/settings.js';
import { checked, list, object, oneOf, optional, type Shape, text } from '../core/shape.js';
import { maskAddress } from '../upstream/entries/mask.js';
import { reference } from './openapi.js';

export const approverList: Shape<readonly string[]> = list(
  text('a user or group such as "group:ops"', /^(?:user|group):\S(?:.*\S)?$/),
  'an array of users and groups',
);

// An address that secrets may be sent to.
const HOOK_ADDRESS = /^https:\/\/[^\s@#]+$|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/[^\s@#]*)?$/;

/** A command or an address; only messages to an address are signed. */
export const notifyTable: Shape<NotifySettings> = checked(
  object({
    command: optional(list(text('a program or argument', /[\s\S]/), 'an array with a program and its arguments')),
    url: optional(text('an address such as "https://chat.example.com/hook"', HOOK_ADDRESS)),
    secret: optional(reference),
  }),
  ({ command, url, secret }, fail) => {
    if ((command === undefined) === (url === undefined)) fail([], 'must have a command or a url');
    if (command?.length === 0) fail(['command'], 'must name a program');
    if (secret !== undefined && url === undefined) fail(['secret'], 'needs a url');
  },
  {
    oneOf: [{ required: ['command'] }, { required: ['url'] }],
    allOf: [{ properties: { command: { minItems: 1 } } }],
    dependentRequired: { secret: ['url'] },
  },
);

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

/** Masks the address of a receiver, whose path may be its secret; of a list, that of each. */
export function maskReceivers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(maskReceivers);
  return isRecord(value) && typeof value.url === 'string' ? { ...value, url: maskAddress(value.url) } : value;
}
