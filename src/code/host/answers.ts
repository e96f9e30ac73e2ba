// Answers of ended programs, kept in case that they could not be delivered (COD-14).

import { join } from 'node:path';
import type { ErrorValue } from '../../core/error.js';
import type { Json } from '../../core/json.js';
import { removeFile } from '../../files/remove.js';
import { holderOf } from './claim.js';
import { findSurplus, listProgramFiles, type ProgramFile } from './program-files.js';
import type { Sealed } from './sealed.js';

export interface ProgramOwner {
  readonly principal: string;
  readonly workdir: string;
  readonly source: string;
}

/** What a program ends with, or is suspended with. */
export interface Answer {
  /** Absent if the program returned nothing. */
  readonly value?: Json;
  /** Instead of a value that is too large to be read here: its JSON text. */
  readonly text?: string;
  readonly error?: ErrorValue;
  /** Texts about its end. */
  readonly notes: readonly string[];
  readonly calls: readonly RanCall[];
  readonly logs: readonly string[];
  readonly seed: number;
  readonly started: number;
}

export interface RanCall {
  readonly [key: string]: string;
  readonly tool: string;
  /** `ok`, the code of its error, or `no`. */
  readonly ran: string;
}

/** The answer of a program that has ended. */
export interface KeptAnswer {
  readonly answer: Answer;
  /** Milliseconds since 1970. */
  readonly ended: number;
}

export interface AnswersOptions {
  readonly directory: string;
  readonly sealed: Sealed;
  readonly now: () => number;
  /** Returns the claim of a program. */
  readonly claimOf: (id: string) => string;
}

type Owner = Pick<ProgramOwner, 'principal' | 'workdir'>;

const HOUR_MS = 3_600_000;
const LIFETIME_MS = 24 * HOUR_MS;
// Later, the same code is meant as a new program, even if nobody got the answer of the first one.
const REPEATED_MS = HOUR_MS;

export function createAnswers({ directory, sealed, now, claimOf }: AnswersOptions) {
  const isKept = (saved: number, lifetime = LIFETIME_MS): boolean => Math.abs(now() - saved) <= lifetime;
  const entries = () => listProgramFiles(directory).filter(({ isAnswer }) => isAnswer);
  const removeOld = (): void => {
    const all = entries();
    const expired = all.filter(({ saved }) => !isKept(saved));
    for (const { id, path } of [...expired, ...findSurplus(all.filter((one) => !expired.includes(one)))])
      for (const file of [path, claimOf(id)]) removeFile(file);
  };

  return {
    save(
      { id, code, owner, principal, workdir }: Owner & Pick<ProgramFile, 'id' | 'code' | 'owner'>,
      answer: Answer,
    ): void {
      const ended = Math.round(now());
      const text = JSON.stringify({ principal, workdir, ended, answer });
      sealed.write(join(directory, `${id}-${owner}-${code}.${ended}.answer`), text);
      removeOld();
    },
    ids: () => new Set(entries().map(({ id }) => id)),
    /** Returns the answer of a program to its caller. Throws `integrity`. */
    find(id: string, { principal, workdir }: Owner): KeptAnswer | undefined {
      const entry = entries().find((one) => one.id === id);
      const kept = entry && sealed.read<KeptAnswer & Owner>(entry.path);
      return kept?.principal === principal && kept.workdir === workdir && isKept(kept.ended) ? kept : undefined;
    },
    /** Returns the id of the program with this code whose process was killed and may not have delivered the answer. */
    findLost: (code: string): string | undefined =>
      entries().find(
        (one) => one.code === code && isKept(one.saved, REPEATED_MS) && holderOf(claimOf(one.id)) === 'dead',
      )?.id,
  };
}
