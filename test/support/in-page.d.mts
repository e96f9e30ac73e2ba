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
/** The landmark and the text of what has the focus. */
export function readFocus(): string;
/** The name of a control, then what describes it. */
export function readDescription(control: Element): string[];
