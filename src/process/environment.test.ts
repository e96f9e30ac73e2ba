// Tests of which variables a process gets.

import { expect, test } from 'vitest';
import { spec } from '../../test/support/spec.js';
import type { World } from '../core/snapshot.js';
import { baseEnvironment, isGranted, searchPath } from './environment.js';

const worldOf = (env: Record<string, string>): World => ({
  env,
  home: '/home/ada',
  platform: 'linux',
  now: () => 0,
  monotonic: () => 0,
  debug: () => {},
  debugging: false,
});
const LOADERS = [
  'LD_PRELOAD',
  'DYLD_INSERT_LIBRARIES',
  'PYTHONPATH',
  'PERL5OPT',
  'GIT_SSH',
  'NODE_OPTIONS',
  'BASH_ENV',
  'ENV',
  'RUBYOPT',
  'NODE_PATH',
  'RUBYLIB',
  'JAVA_TOOL_OPTIONS',
  '_JAVA_OPTIONS',
  'JDK_JAVA_OPTIONS',
  'SHELLOPTS',
  'BASHOPTS',
  'BASH_FUNC_ls%%',
  'PS4',
  'GCONV_PATH',
  'DOTNET_STARTUP_HOOKS',
  'OPENSSL_CONF',
  'SSL_CERT_FILE',
  'npm_config_script_shell',
  'NPM_CONFIG_SCRIPT_SHELL',
  'PERLLIB',
  'CLASSPATH',
  'GOFLAGS',
  'RUSTC_WRAPPER',
  'LESSOPEN',
  ...['TAR_OPTIONS', 'AWKPATH', 'AWKLIBPATH', 'EMACSLOADPATH', 'EXINIT', 'JUPYTER_PATH', 'IPYTHONDIR', 'OCTAVE_PATH'],
  ...['SVN_SSH', 'RSYNC_RSH', 'CVS_RSH', 'APT_CONFIG', 'FZF_DEFAULT_COMMAND', 'ANSIBLE_LIBRARY', 'HELM_PLUGINS'],
  ...['LDFLAGS', 'CFLAGS', 'PKG_CONFIG_PATH', 'M4PATH', 'CATALINA_OPTS', 'GH_PAGER', 'KUBE_EDITOR', 'MODULEPATH'],
  ...['AWS_CA_BUNDLE', 'NIX_SSL_CERT_FILE', 'HTTPLIB2_CA_CERTS', 'GRPC_DEFAULT_SSL_ROOTS_FILE_PATH', 'PGSSLROOTCERT'],
  ...['CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE', 'VAULT_CACERT', 'NODE_EXTRA_CA_CERTS', 'REQUESTS_CA_BUNDLE'],
];
const OTHERS = [
  ...['AWS_PROFILE', 'APP_PATH', 'DATA_PATH', 'FEATURE_FLAGS', 'APP_OPTIONS', 'LOCATION_FILE', 'AMERICA_FILE', 'ROOT'],
  ...[
    'DOCKER_HOST',
    'DATABASE_URL',
    'OPTS',
    'SVN',
    'TARGET',
    'XDG_RUNTIME_DIR',
    'SECRET_PATH',
    'JUPYTER_TOKEN',
    'ROOT_CATEGORY',
  ],
];
const OWN = ['WIELD_HOME', 'WIELD_PARAM_X', 'OCTOMIND_X'];
const NEVER = ['WIELD_TOKEN', 'WIELD_CALL', 'WIELD_FLEET', 'WIELD_FLEET_KEY', 'WIELD_FLEET_PASSWORD'];

test('a process gets the base variables, the locale and nothing else', () => {
  const names = [...LOADERS, ...OWN, ...NEVER, 'SECRET', 'LC_ALL', 'LANG', 'USER', 'HOME', 'PATH'];
  const env = Object.fromEntries(names.map((name) => [name, name === 'PATH' ? '/bin' : 'x']));
  const found = baseEnvironment(worldOf(env), []);
  expect(Object.keys(found).sort()).toEqual(['HOME', 'LANG', 'LC_ALL', 'PATH', 'USER']);
  expect(found.HOME).toBe('/home/ada');
  expect(Object.keys(baseEnvironment(worldOf({ LANG: 'a\0b' }), []))).not.toContain('LANG');
});

spec('EXE-2', 'a wildcard passes on neither loader variables nor our own', () => {
  for (const name of [...LOADERS, ...OWN, ...NEVER])
    for (const pass of [['*'], ['**'], [`${name.slice(0, 3)}*`], [`${name}*`]])
      expect([name, pass, isGranted(name, pass)]).toEqual([name, pass, false]);
  for (const name of [...LOADERS, ...OWN]) expect([name, isGranted(name, [name])]).toEqual([name, true]);
  for (const name of NEVER) expect([name, isGranted(name, [name])]).toEqual([name, false]);
  for (const name of OTHERS) expect([name, isGranted(name, ['*'])]).toEqual([name, true]);
  for (const [name, pass] of [
    ['AWS_REGION', 'AWS_*'],
    ['SSH_AUTH_SOCK', 'SSH_*'],
    ['http_proxy', '*'],
    ['API_KEY', '*'],
  ])
    expect([name, isGranted(name!, [pass!])]).toEqual([name, true]);
});

test('relative directories of PATH are dropped', () => {
  expect(searchPath(worldOf({ PATH: 'bin:.::/usr/bin:./x:/bin' }))).toEqual(['/usr/bin', '/bin']);
  expect(searchPath(worldOf({ PATH: ':.' })).every((directory) => directory.startsWith('/'))).toBe(true);
  expect(baseEnvironment(worldOf({ PATH: '.:/bin' }), []).PATH).toBe('/bin');
});
