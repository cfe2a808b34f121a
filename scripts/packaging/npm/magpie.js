#!/usr/bin/env node
// Starts the program for this machine, which is in a package of its own.
'use strict';
const { spawn } = require('child_process');

const machine = `${process.platform}-${process.arch}`;
const name = `magpie-bridge-${machine}`;

// missing says in one sentence why there is no program: npm leaves optional packages out if it cannot get them, or is
// told to.
function missing() {
  const { version, optionalDependencies } = require('../package.json');
  const chinese = /^zh/i.test(process.env.LC_ALL || process.env.LC_MESSAGES || process.env.LANG || '');
  if (!optionalDependencies[name]) {
    const others = Object.keys(optionalDependencies).map((other) => other.replace('magpie-bridge-', ''));
    return chinese ? `鹊桥没有 ${machine} 的程序，只有 ${others.join('、')} 的`
      : `there is no Magpie for ${machine}, only for ${others.join(', ')}`;
  }
  const install = `npm install -g ./${name}-${version}.tgz`;
  return chinese ? `缺少本机的程序，它在安装包 ${name} 里：从发布页下载 ${name}-${version}.tgz，执行 ${install}`
    : `the program for this machine is missing; it is in the package ${name}: ` +
      `download ${name}-${version}.tgz from the releases page and run ${install}`;
}

let program;
try {
  program = require.resolve(`${name}/bin/magpie${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`magpie: ${missing()}`);
  process.exit(1);
}
if (process.execve && process.platform !== 'win32') { // Node.js 22.15: no process in between
  process.execve(program, [program, ...process.argv.slice(2)], process.env);
}
const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.on(signal, () => child.kill(signal));
}
child.on('error', (err) => {
  console.error(`magpie: ${err.message}`);
  process.exit(1);
});
child.on('exit', (code, signal) => process.exit(signal ? 1 : code));
