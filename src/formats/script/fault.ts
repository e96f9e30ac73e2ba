// Describes why the file of a script cannot be read.

import type { ReadFault } from '../../files/read.js';
import type { HeaderFinding } from './shebang.js';

export function describeFault(fault: ReadFault): HeaderFinding {
  return fault.fault === 'missing'
    ? { message: 'broken symbolic link', hint: 'remove the link, or point it to a script' }
    : { message: `cannot be read: ${fault.message}`, hint: 'check the permissions of the file and its directory' };
}
