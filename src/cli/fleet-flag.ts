// The flag --fleet.

import { option } from './verb.js';

export const FLEET = option('URL', 'The Redis or Valkey server of a fleet: redis://… or rediss://…');
