// An address without secrets in it: names and passwords, telling fields and long words of the path become references.

import { isSecret, looksSecret } from './secrets.js';

const PARTS = /^([a-z][\w+.-]*:\/\/)(?:([^/@?#]*)@)?([^?#]*)(?:\?([^#]*))?(#[\s\S]*)?$/i;

/** `hide` keeps a part in a private file and gives its path. */
export function carryUrl(url: string, hide: (part: string, value: string) => string): string {
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
