// Names that tell of a secret: whatever stands under one is shown and recorded nowhere.

const TELLING =
  /passw(?:or)?d|passphrase|secret|token|credential|authorization|cookie|bearer|(?:api|access|private|signing|encryption|ssh)key/;
const TELLING_WORDS = new Set(['auth', 'jwt', 'key', 'otp', 'pass', 'pin', 'pwd']);

/** Whether a key's name says that its value is a secret: `apiKey`, `db_password`, `Authorization`. */
export function isTelling(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return TELLING.test(words.join('')) || words.some((word) => TELLING_WORDS.has(word));
}
