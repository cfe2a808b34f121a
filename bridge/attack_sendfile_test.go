package bridge

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/agenttools"
)

// sendAttacks are paths by which an agent tries to send files from outside its chat's project, relative to the folders
// of deliverytest.HostileProject; {base} is the parent of the project. why is part of the reply to the agent.
var sendAttacks = []struct{ name, path, why string }{
	{"a file above the project", "../secret", outside},
	{"a file above, by a folder of the project", "sub/../../secret", outside},
	{"an absolute path", "{base}/secret", outside},
	{"a folder whose name begins alike", "../project-2/near", outside},
	{"a file of the system", "/etc/passwd", outside},
	{"a file of the home", "~/secret", "no file"}, // the home of nobody: no shell reads the path
	{"the environment of the bridge", "/proc/self/environ", outside},
	{"the root by way of the process", "/proc/self/root/etc/passwd", outside},
	{"an address", "file:///etc/passwd", "no file"},
	{"a link to a file outside", "out", outside},
	{"a link to a folder outside", "up/secret", outside},
	{"a link to a link to a file outside", "again", outside},
	{"a link to the environment of the bridge", "environ", outside},
	{"a link to an open file of the bridge", "fd", outside},
	{"a link to a device", "zero", outside},
	{"a link to itself", "loop", "no file"},
	{"the bridge's database", "data/magpie.db", own},
	{"the bridge's database, by a link", "d/magpie.db-wal", own},
	{"the bridge's configuration", "magpie.toml", own},
	{"the configuration by its other name", "hard", own},
	{"a file that another chat has sent", "data/files/another/1-1-a.txt", own},
	{"a file that goes out to another chat", "data/outgoing/copy", own},
	{"a pipe that nobody writes to", "pipe", "no usual file"},
	{"a socket", "socket", "no usual file"},
	{"a name with a zero byte", "a.txt\x00.png", "no file"},
}

const (
	outside = "only files of the project folder can be sent"
	own     = "belongs to the bridge itself"
)

// TestAttackSendFilePaths makes the agent of a turn send each path with its tool. The refusal gives the reason, without
// any of the file's content; nothing is copied, uploaded, shown or stored.
func TestAttackSendFilePaths(t *testing.T) {
	const rows = 25
	if len(sendAttacks) != rows {
		t.Fatalf("%d paths, want %d", len(sendAttacks), rows)
	}
	s := newSendRig(t)
	base := deliverytest.HostileProject(t)
	s.project = filepath.Join(base, "project")
	data := filepath.Join(s.project, "data")
	s.dir = filepath.Join(data, "outgoing")
	s.remake(func(c *Config) {
		c.Outgoing, c.Private = s.dir, []string{data, filepath.Join(s.project, "magpie.toml")}
	})
	s.startTurn("om_1")
	for _, tc := range sendAttacks {
		t.Run(tc.name, func(t *testing.T) {
			path := strings.Replace(tc.path, "{base}", base, 1)
			got, err := s.send(path, "look")
			var refused *agenttools.RefusedError
			if got != "" || !errors.As(err, &refused) || !strings.Contains(refused.Reason, tc.why) {
				t.Errorf("%q, %v", got, err)
			} else if strings.Contains(refused.Reason, "canary") {
				t.Errorf("it tells what the file says: %s", refused.Reason)
			}
			if n := s.copies(); n != 1 {
				t.Errorf("%d copies, want the one that was there", n)
			}
		})
	}
	if n := s.count(`SELECT (SELECT COUNT(*) FROM outbox) + (SELECT COUNT(*) FROM file_deliveries)`); n != 0 {
		t.Errorf("%d rows are stored", n)
	}
	if up, shown := s.out.Uploads(), s.out.Order(); len(up) != 0 || len(shown) != 0 {
		t.Errorf("uploaded %d, shown %v", len(up), shown)
	}
}
