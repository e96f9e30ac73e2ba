// The table `[approvals]`: who approves calls, and who is told of them.

import type { NotifySettings } from '../core/settings.js';
import { checked, list, object, optional, type Shape, text } from '../core/shape.js';
import { reference } from './openapi.js';

export const approverList: Shape<readonly string[]> = list(
  text('a user or group such as "group:ops"', /^(?:user|group):\S(?:.*\S)?$/),
  'an array of users and groups',
);

/** An address that secrets may be sent to. */
export const HOOK_ADDRESS =
  /^https:\/\/[^\s@#]+$|^http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?(?:\/[^\s@#]*)?$/;

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
