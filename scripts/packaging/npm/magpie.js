#!/usr/bin/env node
// Starts the program for this machine, which is in a package of its own.
'use strict';
const { spawn } = require('child_process');

const name = `magpie-bridge-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/magpie${process.platform === 'win32' ? '.exe' : ''}`);
} catch {
  console.error(`magpie: the package ${name} is not installed. Either there is no Magpie for this machine, or npm was told ` +
    'to leave optional packages out: npm install -g magpie-bridge --include=optional');
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
