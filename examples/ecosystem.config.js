// An installed Magpie under pm2, with the configuration of this user:
//
//   pm2 start ecosystem.config.js && pm2 save
//   pm2 restart feishu        pm2 logs feishu        pm2 stop feishu
//
// In the folder of the repository: scripts/ecosystem.config.js.
const fs = require('fs');
const path = require('path');
const os = require('os');

// The program beside this folder, as npm and the archives have it, or else where packages and people put it.
const programs = ['../bin/magpie', '../magpie', '/usr/bin/magpie'].map((file) => path.resolve(__dirname, file));

module.exports = {
  apps: [{
    name: 'feishu',
    script: programs.find(fs.existsSync) || '/usr/local/bin/magpie',
    args: ['serve', '--config', path.join(os.homedir(), '.config', 'magpie', 'magpie.toml')],
    cwd: os.homedir(),
    interpreter: 'none',
    exec_mode: 'fork', // one instance: two would answer every message twice
    instances: 1,

    // A stop takes as long as the answers that are being written, and only the bridge is told.
    kill_timeout: 90000,
    treekill: false,

    // Exit code 2 is a mistake in the configuration: starting again does not mend it.
    autorestart: true,
    exp_backoff_restart_delay: 1000,
    max_restarts: Number.MAX_SAFE_INTEGER,
    stop_exit_codes: [2],
    wait_ready: false,

    time: false,
    merge_logs: true,
    vizion: false,
  }],
};
