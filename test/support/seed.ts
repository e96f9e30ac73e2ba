// Vitest's setup: properties try the same cases in every `npm test`.

import fc from 'fast-check';
import { SEED } from './effort.js';

fc.configureGlobal({ seed: SEED });
