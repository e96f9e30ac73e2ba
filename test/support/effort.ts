// Number of repetitions of a test: few in `npm test`, many in `npm run thorough`.

export const THOROUGH = process.env.WIELD_THOROUGH === '1';

/** Returns how often a random case is tried. */
export function rounds(usually: number, thoroughly: number): number {
  return THOROUGH ? thoroughly : usually;
}

const SEED = Number(process.env.WIELD_SAMPLE_SEED ?? Math.floor(Math.random() * 10_000));

/** For the title of a test that takes a sample: how to take it again. */
export const SAMPLED = THOROUGH ? '' : ` (WIELD_SAMPLE_SEED=${SEED})`;

/** Returns a few of many equal cases in `npm test`, others in every run, and all of them in `npm run thorough`. */
export function sample<T>(cases: readonly T[], count: number): readonly T[] {
  if (THOROUGH || cases.length <= count) return cases;
  const step = cases.length / count;
  return Array.from({ length: count }, (_, at) => cases[(SEED + Math.floor(at * step)) % cases.length]!);
}
