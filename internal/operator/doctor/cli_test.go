package doctor

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// The doctor reports the limits of turns and processes, how long processes are kept, and why.
func TestTheDoctorReportsTheLimits(t *testing.T) {
	machine := func(group string) fstest.MapFS {
		return fstest.MapFS{
			"proc/meminfo":                 {Data: []byte("MemTotal: 67108864 kB\nMemAvailable: 62914560 kB\n")},
			"proc/self/cgroup":             {Data: []byte("0::/\n")},
			"sys/fs/cgroup/memory.max":     {Data: []byte(group)},
			"sys/fs/cgroup/memory.current": {Data: []byte("0")},
		}
	}
	cores := runtime.GOMAXPROCS(0)
	turns, english := max(8, 4*cores), "CPU cores"
	if cores == 1 {
		english = "CPU core"
	}
	for name, tc := range map[string]struct {
		cfg    claude.Config
		zh, en string
	}{
		"auto": {
			claude.Config{Machine: machine("max"), KeepAlive: workspace.AutoKeepAlive},
			fmt.Sprintf("claude：最多同时回答 %d 个问题（按 %d 个 CPU 核心），274 个进程（按 60.0 GB 空闲内存）；空闲进程最多保留 2 小时（内存够用时）", turns, cores),
			fmt.Sprintf("claude: up to %d answers at once (based on %d %s) and 274 processes (based on 60.0 GB of free memory); "+
				"idle processes stay up to 2 h (while memory allows)", turns, cores, english),
		},
		"numbers": {
			claude.Config{Machine: machine("max"), MaxTurns: 4, MaxProcesses: 6,
				KeepAlive: workspace.KeepAlive{Duration: time.Minute}},
			"claude：最多同时回答 4 个问题（由配置指定），6 个进程（由配置指定）；空闲进程最多保留 1 分钟（由配置指定）",
			"claude: up to 4 answers at once (configured) and 6 processes (configured); idle processes stay up to 1 min (configured)",
		},
		"a container": {
			claude.Config{Machine: machine("1073741824"), MaxTurns: 4, KeepAlive: workspace.AutoKeepAlive},
			"claude：最多同时回答 3 个问题（不超过进程数），3 个进程（按容器或服务的 1.0 GB 空闲内存）；空闲进程最多保留 2 小时（内存够用时）",
			"claude: up to 3 answers at once (no more than the processes) and 3 processes (based on 1.0 GB of free memory of " +
				"its container or service); idle processes stay up to 2 h (while memory allows)",
		},
		"unknown memory": {
			claude.Config{Machine: fstest.MapFS{}, MaxTurns: 4, KeepAlive: workspace.AutoKeepAlive},
			"claude：最多同时回答 4 个问题（由配置指定），8 个进程（空闲内存未知）；空闲进程最多保留 5 分钟（空闲内存未知）",
			"claude: up to 4 answers at once (configured) and 8 processes (free memory unknown); idle processes stay up to " +
				"5 min (free memory unknown)",
		},
	} {
		for lang, want := range map[i18n.Lang]string{i18n.Chinese: tc.zh, i18n.English: tc.en} {
			r := &Report{Lang: lang}
			checkLimits(r, claude.LimitsOf(tc.cfg))
			if len(r.Findings) != 1 || r.Findings[0] != (Finding{State: OK, What: want}) {
				t.Errorf("%s:\ntold %+v\nwant %s", name, r.Findings, want)
			}
		}
	}
}

// The doctor names the agents' working MCP servers, and what to do about one that does not work or is not approved.
func TestTheDoctorNamesServersThatDoNotWork(t *testing.T) {
	serves := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	}, nil)
	var sessions atomic.Int32
	network := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/login" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/" && r.Header.Get("Mcp-Session-Id") == "" {
			sessions.Add(1)
		}
		if r.URL.Path == "/there" {
			time.Sleep(5 * time.Millisecond) // longer than the wait of a slow one below
		}
		serves.ServeHTTP(w, r)
	}))
	t.Cleanup(network.Close)
	c := claudetest.ScriptedConfig(t)
	other := t.TempDir()
	here := `"here":{"type":"http","url":"` + network.URL + `/"}`
	for dir, servers := range map[string]string{
		c.Project: here + `,"gone":{"command":"/nonexistent/server"},
			"ends":{"command":"sh","args":["-c","echo no token >&2; exit 3"]},
			"remote":{"type":"http","url":"` + network.URL + `/login"}`,
		other: here + `,"there":{"type":"http","url":"` + network.URL + `/there"}`,
	} {
		err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{`+servers+`}}`), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	c.MCP = workspace.MCPServers{"here", "gone", "ends", "remote", "there"}
	told := func(lang i18n.Lang) []Finding {
		r := &Report{Lang: lang}
		CLI{Config: c}.checkServers(t.Context(), r, c.Project, other)
		return r.Findings
	}
	for lang, want := range map[i18n.Lang][]Finding{
		i18n.Chinese: {
			{State: Warn, What: "claude：MCP 服务器 ends 用不了：退出码 3（no token）",
				Do: "修好它，或用 claude mcp remove 去掉，或在 [claude] mcp 里列出要用的"},
			{State: Warn, What: "claude：找不到 MCP 服务器 gone 的程序，助手用不了它",
				Do: "安装它，或用 claude mcp remove 去掉，或在 [claude] mcp 里列出要用的"},
			{State: OK, What: "claude：MCP 服务器 remote 需要登录；还没登录的话，运行 claude，用 /mcp 登录"},
			{State: OK, What: "claude：助手可用的 MCP 服务器：here、there"},
		},
		i18n.English: {
			{State: Warn, What: "claude: the MCP server ends does not work: exit code 3 (no token)",
				Do: "repair it, remove it with claude mcp remove, or list only the others in [claude] mcp"},
			{State: Warn, What: "claude: the program of the MCP server gone was not found, so the agent can't use it",
				Do: "install it, remove it with claude mcp remove, or list only the others in [claude] mcp"},
			{State: OK, What: "claude: the MCP server remote asks for a login; if that is still to be done, run claude and use /mcp"},
			{State: OK, What: "claude: MCP servers available to the agent: here, there"},
		},
	} {
		if got := told(lang); !slices.Equal(got, want) {
			t.Errorf("told %+v\nwant %+v", got, want)
		}
	}
	if n := sessions.Load(); n != 2 {
		t.Errorf("a server of two projects was tried %d times in 2 checks", n)
	}
	c.MCP, c.Env["CLAUDE_CODE_MCP_STARTUP_WAIT_MS"] = workspace.MCPServers{"there"}, "1"
	if got := told(i18n.English); len(got) != 1 || got[0] != (Finding{State: OK,
		What: "claude: the MCP server there starts slowly; the first answer of a process does not wait for it"}) {
		t.Errorf("of a slow one: %+v", got)
	}
	c.MCP = workspace.MCPServers{"all"} // none is approved
	for lang, want := range map[i18n.Lang]Finding{
		i18n.Chinese: {
			State: Warn, What: "claude：项目 .mcp.json 里的 MCP 服务器还没有批准，助手用不了：ends、gone、here、remote",
			Do: "在 " + c.Project + " 里运行 claude，同意或拒绝使用它们，或写进 [claude] mcp",
		},
		i18n.English: {
			State: Warn, What: "claude: MCP servers in the project's .mcp.json are not approved yet, so the agent can't use them: ends, gone, here, remote",
			Do: "run claude in " + c.Project + " and approve or reject them, or name them in [claude] mcp",
		},
	} {
		if got := told(lang); len(got) != 2 || got[0] != want || !strings.Contains(got[1].Do, other) {
			t.Errorf("told %+v\nwant %+v, and of the other project", got, want)
		}
	}
}

// The scripted agent, with which the doctor and setup are tested, reports its version and login like the CLI.
func TestTheScriptedAgentIsCheckedLikeTheCLI(t *testing.T) {
	home := t.TempDir()
	for _, key := range []string{"", "sk-test-dummy"} {
		var told [2][]Finding
		for i, command := range []string{claudetest.Command(t), claudetest.Scripted(t)} {
			c := CLI{Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_API_KEY=" + key}}
			c.Config.Command = command
			r := &Report{Lang: i18n.English}
			if path, loggedIn := c.Check(t.Context(), r); path != command || loggedIn != (key != "") {
				t.Errorf("with the key %q: %q is logged in: %t", key, path, loggedIn)
			}
			for _, f := range r.Findings {
				f.What = strings.ReplaceAll(f.What, command, "claude")
				if limits := strings.HasPrefix(f.What, "claude: up to "); !limits { // limits depend on the free memory
					told[i] = append(told[i], f)
				}
			}
		}
		if len(told[0]) < 2 || !slices.Equal(told[0], told[1]) {
			t.Errorf("with the key %q the CLI is reported as\n%+v\nand the scripted agent as\n%+v", key, told[0], told[1])
		}
	}
}
