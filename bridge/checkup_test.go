package bridge

import (
	"fmt"
	"runtime"
	"testing"
	"testing/fstest"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// memory is a machine with that much memory, in GB, of which so much is free, also to its container; 0 = it has none.
func memory(total, free, group int) fstest.MapFS {
	m := fstest.MapFS{
		"proc/meminfo":     {Data: fmt.Appendf(nil, "MemTotal: %d kB\nMemAvailable: %d kB\n", total<<20, free<<20)},
		"proc/self/cgroup": {Data: []byte("0::/\n")},
	}
	if group > 0 {
		m["sys/fs/cgroup/memory.max"] = &fstest.MapFile{Data: fmt.Append(nil, group<<30)}
		m["sys/fs/cgroup/memory.current"] = &fstest.MapFile{Data: []byte("0")}
	}
	return m
}

// Admins are told what the limits are, and why: what the configuration sets, what the other limit does, and from what
// the rest was computed.
func TestReasonsOfTheLimits(t *testing.T) {
	t.Parallel()
	cores := runtime.GOMAXPROCS(0)
	auto := max(8, 4*cores)
	for name, tc := range map[string]struct {
		cfg    claude.Config
		zh, en string
	}{
		"all of them computed": {
			claude.Config{Machine: memory(1<<10, 1<<10, 0), KeepAlive: workspace.AutoKeepAlive},
			fmt.Sprintf("正在回答 0/%d（按 %d 个 CPU 核心），排队 0；进程 0/4718（按 1024.0 GB 空闲内存）；空闲进程最多保留 2 小时（内存够用时）", auto, cores),
			fmt.Sprintf("Answering 0/%d (based on %d CPU cores), queued 0; processes 0/4718 (based on 1024.0 GB of free "+
				"memory); idle processes stay up to 2 h (while memory allows)", auto, cores),
		},
		"a small container": {
			claude.Config{Machine: memory(64, 60, 1), KeepAlive: workspace.AutoKeepAlive},
			"正在回答 0/3（不超过进程数），排队 0；进程 0/3（按容器或服务的 1.0 GB 空闲内存）；空闲进程最多保留 2 小时（内存够用时）",
			"Answering 0/3 (no more than the processes), queued 0; processes 0/3 (based on 1.0 GB of free memory of its " +
				"container or service); idle processes stay up to 2 h (while memory allows)",
		},
		"the memory is not known": {
			claude.Config{Machine: fstest.MapFS{}, MaxTurns: 3, KeepAlive: workspace.AutoKeepAlive},
			"正在回答 0/3（由配置指定），排队 0；进程 0/8（空闲内存未知）；空闲进程最多保留 5 分钟（空闲内存未知）",
			"Answering 0/3 (configured), queued 0; processes 0/8 (free memory unknown); idle processes stay up to 5 min " +
				"(free memory unknown)",
		},
		"numbers": {
			claude.Config{Machine: memory(64, 60, 0), MaxTurns: 9, MaxProcesses: 2,
				KeepAlive: workspace.KeepAlive{Duration: 90 * time.Second}},
			"正在回答 0/2（不超过进程数），排队 0；进程 0/2（由配置指定）；空闲进程最多保留 1 分 30 秒（由配置指定）",
			"Answering 0/2 (no more than the processes), queued 0; processes 0/2 (configured); idle processes stay up to " +
				"1 min 30 s (configured)",
		},
		"a process for each turn": {
			claude.Config{Machine: memory(64, 60, 0), MaxTurns: 1, MaxProcesses: 2},
			"正在回答 0/1（由配置指定），排队 0；进程 0/2（由配置指定）；空闲进程立即结束（由配置指定）",
			"Answering 0/1 (configured), queued 0; processes 0/2 (configured); idle processes end at once (configured)",
		},
	} {
		pool := claude.NewPool(tc.cfg)
		for lang, want := range map[i18n.Lang]string{i18n.Chinese: tc.zh, i18n.English: tc.en} {
			if got := loadOf(pool, lang); got != want {
				t.Errorf("%s:\ntold %s\nwant %s", name, got, want)
			}
		}
		pool.Close()
	}
}
