// Number of repetitions of a test: few in `npm test`, many in `npm run thorough`.

export const THOROUGH = process.env.WIELD_THOROUGH === '1';

/** Returns how often a random case is tried. */
export function rounds(usually: number, thoroughly: number): number {
  return THOROUGH ? thoroughly : usually;
}
