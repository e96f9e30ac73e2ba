// Places of a system that sandboxes treat alike on every machine.

/** Private directories take the place of these, unless a path in them is named. */
export const RUN = '/run';
export const TEMPORARY = ['/tmp', '/var/tmp'];

/** Needed by nearly every program; readable also if a profile lists what it reads. */
export const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc', '/opt', '/nix', '/sys'];
