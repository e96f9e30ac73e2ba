/** Visible texts whose contrast to their background is below 4.5:1. */
export function findWeakText(): string[];
/** Controls without a name. */
export function findUnnamed(): string[];
export function readTexts(): {
  readonly text: string;
  /** Attributes that are shown or read aloud. */
  readonly labels: string;
  /** Elements that only markup of others would create. */
  readonly elements: number;
  readonly title: string;
  readonly storage: string;
};
