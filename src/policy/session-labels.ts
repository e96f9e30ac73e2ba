// The labels of sessions in files of the wield home: one per session, named by a hash, because ids of sessions give access.

import { join } from 'node:path';
import { ToolError } from '../core/error.js';
import {
  type EnteredLabel,
  joinLabels,
  type LabelAdmin,
  type LabelledSession,
  type SessionLabels,
  withoutExpired,
} from '../core/label.js';
import { integer, list, object, oneOf, optional, string } from '../core/shape.js';
import { quoteOutside } from '../core/text.js';
import { changeFile } from '../files/change.js';
import { digestParts } from '../files/digest.js';
import { namesIn } from '../files/list.js';
import { readStateFile, statOrNothing } from '../files/read.js';
import { removeFile } from '../files/remove.js';
import { checkStateDirectory, readState } from '../files/state.js';

export interface SessionLabelsOptions {
  readonly directory: string;
  readonly now: () => number;
}

/** What is stored of a session. */
export const LABELLED = object(
  {
    version: oneOf(1),
    of: string,
    labels: list(object({ label: string, tool: string, at: integer(0), until: optional(integer(0)) })),
  },
  { unknown: 'drop' },
);

const MAX_BYTES = 256 * 1024;
const NAME = /^([0-9a-f]{16})\.json$/;
// Nobody continues a session after that long.
const KEEP_MS = 90 * 24 * 3_600_000;

/** Returns the id of a session for people. */
export function labelledId(session: string): string {
  return digestParts(['labels', session]).slice(0, 16);
}

export function unknownSession(id: string): ToolError {
  return new ToolError('not_found', `no session ${quoteOutside(id, 40)} has labels`, {
    hint: 'wield approvals sessions shows them',
  });
}

export function createSessionLabels({ directory, now }: SessionLabelsOptions): SessionLabels & LabelAdmin {
  const fileOf = (id: string): string => join(directory, `${id}.json`);
  const parse = (text: string | undefined, id: string): Omit<LabelledSession, 'id'> => {
    if (text === undefined) return { of: '', labels: [] };
    const file = fileOf(id);
    const { of, labels } = readState(LABELLED, text, file, () => damaged(file, id));
    return { of, labels: withoutExpired(labels as readonly EnteredLabel[], now()) };
  };
  const read = (id: string): Omit<LabelledSession, 'id'> =>
    parse(checkStateDirectory(directory) ? readStateFile(fileOf(id), MAX_BYTES) : undefined, id);
  const ids = (): string[] =>
    checkStateDirectory(directory) ? namesIn(directory).flatMap((name) => NAME.exec(name)?.[1] ?? []) : [];

  return {
    read: (session) => read(labelledId(session)).labels,
    async enter(session, of, labels) {
      const id = labelledId(session);
      const { labels: known } = read(id);
      if (joinLabels(known, labels) === known) return;
      if (known.length === 0) for (const other of ids()) removeOld(fileOf(other), now());
      await changeFile(fileOf(id), { doing: 'recording what a session reads' }, (text) => {
        const joined = joinLabels(parse(text, id).labels, labels);
        return `${JSON.stringify({ version: 1, of, labels: joined }, null, 2)}\n`;
      });
    },
    list: () =>
      ids()
        .map((id) => ({ id, ...read(id) }))
        .filter(({ labels }) => labels.length > 0),
    clear(id) {
      if (!ids().includes(id)) throw unknownSession(id);
      removeFile(fileOf(id));
    },
  };
}

function removeOld(file: string, now: number): void {
  const stats = statOrNothing(file);
  if (stats !== undefined && now - stats.mtimeMs > KEEP_MS) removeFile(file);
}

function damaged(file: string, id: string): ToolError {
  return new ToolError('io', `${file} is damaged, so what the session has read is unknown`, {
    hint: `if it has read nothing that matters, run: wield approvals clear ${id}`,
  });
}
