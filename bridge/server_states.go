package bridge

import (
	"slices"
	"strings"
	"sync"

	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// serverStates holds the MCP servers that were not available to the last turn, by working folder.
type serverStates struct {
	mu   sync.Mutex
	list map[string][]claude.MCPServer
}

// note records the states of the servers of a process in dir.
func (s *serverStates) note(dir string, list []claude.MCPServer) {
	list = slices.DeleteFunc(slices.Clone(list), func(m claude.MCPServer) bool { return !m.Broken() && !m.Pending() })
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(list) == 0 {
		delete(s.list, dir)
		return
	}
	s.list[dir] = list
}

// describe names the servers that failed to start in dir, and those for which the answer did not wait; empty = none.
func (s *serverStates) describe(dir string) (broken, pending string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[bool][]string{}
	for _, m := range s.list[dir] {
		names[m.Broken()] = append(names[m.Broken()], i18n.InlineCode(m.Name))
	}
	return strings.Join(names[true], " "), strings.Join(names[false], " ")
}
