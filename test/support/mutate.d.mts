export function createRandom(seed: number): () => number;
export function mutate(text: string, random: () => number): string;
export function restructureOnly(text: string, random: () => number): string;
