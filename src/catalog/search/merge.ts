// Merges what several queries of one search found: tools of one family support each other, then ranks decide.

/** The score of each entry that a query found. */
export type Scores = Map<number, number>;

/**
 * Raises the scores of entries whose family another query found too, up to twofold: the steps of a task often use several
 * tools of one server.
 */
export function raiseFamilies(scored: readonly Scores[], families: readonly string[]): void {
  const shares = scored.map((scores) => toShares(scores, families));
  for (const [at, scores] of scored.entries()) {
    const others = shares.filter((_, other) => other !== at);
    for (const [entry, score] of scores) {
      const support = Math.max(...others.map((share) => share.get(families[entry]!) ?? 0));
      scores.set(entry, score * (1 + support));
    }
  }
}

// The best score of each family, relative to the best of all.
function toShares(scores: Scores, families: readonly string[]): Map<string, number> {
  const best = new Map<string, number>();
  let highest = 0;
  for (const [entry, score] of scores) {
    const family = families[entry]!;
    best.set(family, Math.max(best.get(family) ?? 0, score));
    highest = Math.max(highest, score);
  }
  for (const [family, score] of best) best.set(family, score / highest);
  return best;
}

interface Ranked {
  readonly at: number;
  readonly score: number;
}

/** Merges rankings: entries named exactly, then by their best rank, then by how many queries found them. */
export function mergeByRank<Hit extends Ranked>(rankings: readonly (readonly Hit[])[]): Hit[] {
  const ranks = new Map<number, { hit: Hit; best: number; sum: number; isNamed: boolean }>();
  for (const hits of rankings) {
    for (const [rank, hit] of hits.entries()) {
      const { best, sum, isNamed } = ranks.get(hit.at) ?? { best: rank, sum: 0, isNamed: false };
      ranks.set(hit.at, {
        hit,
        best: Math.min(best, rank),
        sum: sum + 1 / (rank + 1),
        isNamed: isNamed || hit.score === Number.POSITIVE_INFINITY,
      });
    }
  }
  return [...ranks.values()]
    .sort((a, b) => Number(b.isNamed) - Number(a.isNamed) || a.best - b.best || b.sum - a.sum)
    .map(({ hit }) => hit);
}
