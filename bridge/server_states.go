package bridge

import (
	"slices"
	"strings"
	"sync"

	"magpie/bridge/i18n"
	"magpie/internal/claude"
)

// serverStates holds the MCP servers that failed to start, by working folder, as of the last turn there.
type serverStates struct {
	mu     sync.Mutex
	broken map[string][]claude.MCPServer
}

// note records the states of the servers of a process in dir.
func (s *serverStates) note(dir string, list []claude.MCPServer) {
	broken := slices.DeleteFunc(slices.Clone(list), func(m claude.MCPServer) bool { return !m.Broken() })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(broken) == 0 {
		delete(s.broken, dir)
		return
	}
	s.broken[dir] = broken
}

// describe names the servers that failed to start in dir; empty = none failed.
func (s *serverStates) describe(dir string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, m := range s.broken[dir] {
		names = append(names, i18n.InlineCode(m.Name))
	}
	return strings.Join(names, " ")
}
