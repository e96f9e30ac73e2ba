export const OPTIONAL: readonly string[];
export function createPath(directory: string, without: readonly string[]): string;
export function findAffected(): string[];
