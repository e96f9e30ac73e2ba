// The action of an upstream tool.

import type { RemoteAction, Tool } from '../../core/tool.js';

export function remoteActionOf({ name, action }: Tool): RemoteAction {
  if (action.kind !== 'remote') throw new TypeError(`${name} is not an upstream tool`);
  return action;
}
