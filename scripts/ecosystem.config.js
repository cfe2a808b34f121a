// Magpie under pm2. In the folder of the repository, with bin/magpie built and a magpie.toml:
//
//   pm2 start scripts/ecosystem.config.js && pm2 save
//   pm2 restart feishu        pm2 logs feishu        pm2 stop feishu
const path = require('path');

const root = path.resolve(__dirname, '..');

module.exports = {
  apps: [{
    name: 'feishu',
    script: path.join(root, 'bin', 'magpie'),
    args: 'serve',
    cwd: root,
    interpreter: 'none',
    exec_mode: 'fork', // one instance: two would answer every message twice
    instances: 1,

    // At a stop the bridge ends its turns and delivers their last cards itself, so only it gets the signal (treekill
    // would signal the CLI too), and it gets the time that this takes.
    kill_timeout: 90000,
    treekill: false,

    // A failing start is tried again after 1 s, 1.5 s, ... 15 s, for ever. Not so exit code 2, which is a mistake in the
    // configuration: pm2 logs says which, although the list shows "waiting restart".
    autorestart: true,
    exp_backoff_restart_delay: 1000,
    max_restarts: Number.MAX_SAFE_INTEGER,
    stop_exit_codes: [2],
    wait_ready: false, // only Node programs can tell pm2 that they are ready

    time: false, // every line of the log has its time already
    merge_logs: true,
    vizion: false,
  }],
};
