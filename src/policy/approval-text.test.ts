// Tests of the question about a call: one value per line, and nothing hidden in any of them.

import { expect } from 'vitest';
import { spec } from '../../test/support/spec.js';
import type { ApprovalRecord } from '../core/approval.js';
import { approvalRows, changeLines } from './approval-text.js';

const HIDDEN = 'x\ny\tz\u001b[2K\u202e\u200b\u{e0041}\u3164';
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200b\u202e\u{e0041}\u3164]/u;

const RECORD = {
  binding: 'b',
  principal: `model ${HIDDEN}`,
  tool: HIDDEN,
  uri: `script://${HIDDEN}`,
  toolDigest: 'c',
  planDigest: 'd',
  workdir: `/${HIDDEN}`,
  programs: [],
  inputDigest: 'e',
  input: { [HIDDEN]: HIDDEN },
  description: HIDDEN.slice(1),
  owner: 'workspace',
  command: [HIDDEN, HIDDEN],
  interpreter: HIDDEN,
  others: [[HIDDEN]],
  background: true,
  variables: [],
  definition: '',
  rule: HIDDEN,
  reason: HIDDEN,
  created: 0,
} as const satisfies Partial<ApprovalRecord>;

spec('POL-6', 'every value of a question is on one line, with invisible characters escaped', () => {
  const rows = approvalRows(RECORD as unknown as ApprovalRecord);
  expect(rows.map(([label]) => label)).toEqual([
    'says',
    'from',
    'runs',
    'through',
    'and',
    'lasts',
    'in',
    'input',
    'for',
    'because',
  ]);
  expect(rows.filter(([, value]) => UNSAFE.test(value))).toEqual([]);
  expect(approvalRows({ ...RECORD, uri: null, command: null } as unknown as ApprovalRecord)[1]).toEqual([
    'from',
    'code of this program (of the workspace)',
  ]);
  const lines = changeLines({ lines: [`- ${HIDDEN}`, `+ ${HIDDEN}`] } as unknown as Parameters<typeof changeLines>[0]);
  expect(lines.filter((line) => UNSAFE.test(line))).toEqual([]);
});
