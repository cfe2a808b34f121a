package claude

// Works reports whether a process of the pool is known to work unasked.
func (pl *Pool) Works() bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	for p := range pl.processes {
		if p.out.isBusy() {
			return true
		}
	}
	return false
}
