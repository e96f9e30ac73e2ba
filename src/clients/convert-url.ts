// Replaces secrets in a URL by file references: credentials, query parameters and path segments.

import { isSecret, looksSecret } from './secrets.js';

const PARTS = /^([a-z][\w+.-]*:\/\/)(?:([^/@?#]*)@)?([^?#]*)(?:\?([^#]*))?(#[\s\S]*)?$/i;

/** `hide` stores a secret in a private file and returns its path. */
export function convertUrl(url: string, hide: (part: string, value: string) => string): string {
  const parts = PARTS.exec(url);
  if (parts === null) return url;
  const [, scheme, user, place, query, hash = ''] = parts;
  const refer = (part: string, value: string): string => `\${file:${hide(part, value)}}`;
  const who = user === undefined ? '' : `${user.includes('${') ? user : refer('url.user', user)}@`;
  const path = place!
    .split('/')
    .map((word, at) => (at > 0 && looksSecret(word) ? refer(`url.path${at}`, word) : word))
    .join('/');
  const fields = query?.split('&').map((field) => {
    const [name = '', ...value] = field.split('=');
    return isSecret(name, value.join('=')) ? `${name}=${refer(`url.${name}`, value.join('='))}` : field;
  });
  return `${scheme}${who}${path}${fields === undefined ? '' : `?${fields.join('&')}`}${hash}`;
}
