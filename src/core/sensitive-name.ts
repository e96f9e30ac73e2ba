// Recognizes names whose values are secrets and must not be shown or stored.

const SECRET =
  /passw(?:or)?d|passphrase|secret|token|credential|authorization|cookie|bearer|(?:api|access|private|signing|encryption|ssh)key/;
const SECRET_WORDS = new Set(['auth', 'jwt', 'key', 'otp', 'pass', 'pin', 'pwd']);

/** Whether a name is that of a secret: `apiKey`, `db_password`, `Authorization`. */
export function isSensitiveName(name: string): boolean {
  const words = name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/);
  return SECRET.test(words.join('')) || words.some((word) => SECRET_WORDS.has(word));
}
