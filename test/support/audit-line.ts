// The shape of a line of the audit log, of which schemas/audit-line.json is made.

import type { AuditRecord, StartedRecord } from '../../src/audit/line.js';
import {
  anything,
  boolean,
  either,
  type Infer,
  integer,
  list,
  nullable,
  number,
  object,
  oneOf,
  optional,
  string,
} from '../../src/core/shape.js';

// Later versions may add fields.
const KEEP = { unknown: 'keep' } as const;
const WAYS = oneOf('terminal', 'page', 'mcp', 'yes', 'code', 'record', 'standing');

const LINK = {
  chain: optional(string),
  seq: optional(integer(1)),
  prev: optional(nullable(string)),
  at: optional(integer()),
  fresh: optional(oneOf(true)),
  pruned: optional(integer(1)),
};

const BOTH = {
  schema: oneOf(1),
  pid: integer(1),
  since: integer(),
  call: string,
  parent: nullable(string),
  depth: integer(),
  caller: string,
  user: optional(string),
  session: optional(string),
  address: optional(string),
  kind: oneOf('person', 'model', 'code'),
  door: string,
  tool: string,
  format: nullable(string),
  origin: nullable(string),
  digest: nullable(string),
  binary: nullable(string),
  workdir: string,
  verdict: nullable(oneOf('allow', 'ask', 'deny')),
  rule: nullable(string),
  reason: nullable(string),
  approval: nullable(object({ id: string, by: WAYS, approvedBy: optional(string) }, KEEP)),
  sandbox: nullable(string),
  inputBytes: nullable(integer()),
  inputHash: nullable(string),
  ...LINK,
};

const STARTED = object({ started: string, ...BOTH }, KEEP);
const ENDED = object(
  {
    time: string,
    ...BOTH,
    decision: nullable(
      object(
        {
          by: oneOf('rule', 'default', 'person', 'code', 'nobody'),
          how: nullable(WAYS),
          at: nullable(string),
          user: optional(string),
        },
        KEEP,
      ),
    ),
    // Later versions may have further codes.
    code: nullable(string),
    durationMs: number,
    exitCode: nullable(integer()),
    refused: optional(list(string)),
    outputBytes: integer(),
    outputHash: nullable(string),
    truncated: boolean,
    handle: nullable(string),
    input: optional(anything),
    output: optional(string),
    message: optional(string),
    contentsLeftOut: optional(oneOf(true)),
  },
  KEEP,
);

/** A line that was written before a tool ran, or when a call had ended. */
export const AUDIT_LINE = either([ENDED, STARTED]);

type Names<T> = keyof Required<T>;
// The shapes have the fields of the types of the code, `interrupted` aside, which is not written.
type Missing = Exclude<Names<AuditRecord>, Names<Infer<typeof ENDED>> | 'interrupted'>;
type MissingAtStart = Exclude<Names<StartedRecord>, Names<Infer<typeof ENDED>> | 'started' | 'interrupted'>;
({}) satisfies Record<Missing | MissingAtStart, never>;
