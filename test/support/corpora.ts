// Where the corpora of real files are: beside the project, or where WIELD_CORPORA says.

import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

export const CORPORA =
  process.env.WIELD_CORPORA ?? resolve(fileURLToPath(new URL('../../..', import.meta.url)), 'shared/corpora');

export const NO_CORPORA = 'no files of real projects; to run: WIELD_CORPORA=DIRECTORY npm test';
