// The requests of the page, as shapes: what the server accepts, and the types of the API.

import { CALLER_KINDS } from '../core/caller.js';
import type { Json, JsonObject } from '../core/json.js';
import { checked, converted, custom, type Infer, list, object, oneOf, optional, table, text } from '../core/shape.js';

const TEXT = custom('a string of up to 4096 characters', (value) =>
  typeof value === 'string' && value.length <= 4096 ? value : undefined,
);
const JSON_VALUE = custom('a value', (value) => value as Json | undefined);
const CALL = { tool: TEXT, input: JSON_VALUE };
const CALLER = object({ kind: oneOf(...CALLER_KINDS), door: TEXT, name: optional(TEXT) });
const PLANS = checked(list(object({ id: TEXT, digest: TEXT })), (plans, fail) => {
  if (plans.length > 1000) fail([], 'must have at most 1000 items');
});

/** UI-6: nothing that could be started is among them: no command, path or address. */
export const REQUESTS = {
  'POST /api/login': object({ code: TEXT }),
  'POST /api/plan': object(CALL),
  // `digest`: of the plan that the person saw. If the call would now run something else, it fails with `conflict`.
  'POST /api/run': object({ ...CALL, digest: TEXT }),
  // `content`: the filled-in form. `check` answers nothing, and is refused if the form has faults.
  'POST /api/answers': object({
    question: TEXT,
    action: oneOf('accept', 'decline', 'cancel', 'check'),
    content: optional(converted(table, (content) => content as JsonObject)),
  }),
  // `deny` denies a pending call, withdraws an approval or revokes a standing one.
  'POST /api/approvals/:id': object({
    answer: oneOf('once', 'always', 'deny'),
    digest: TEXT,
    reason: optional(TEXT),
  }),
  'POST /api/approvals': object({ deny: PLANS, reason: optional(TEXT) }),
  // Without `input`, rules about arguments do not match.
  'POST /api/explain': object({ tool: TEXT, input: optional(JSON_VALUE), caller: CALLER }),
  'POST /api/cases': object({ call: TEXT, name: text('a name', /^[a-z0-9][a-z0-9-]{0,63}$/) }),
  'POST /api/changes': object({ tool: TEXT, digest: TEXT }),
  'POST /api/servers/:name/restart': object({}),
  'POST /api/servers/:name/login': object({}),
};

export type RequestOf<Name> = Name extends keyof typeof REQUESTS ? Infer<(typeof REQUESTS)[Name]> : undefined;
