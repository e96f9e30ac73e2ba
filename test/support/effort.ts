// How much a test does: enough to notice a mistake in every run, everything in `npm run thorough`.

export const THOROUGH = process.env.WIELD_THOROUGH === '1';

/** How often something random is tried. */
export function rounds(usually: number, thoroughly: number): number {
  return THOROUGH ? thoroughly : usually;
}
