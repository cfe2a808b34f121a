//go:build !linux

package console

import "net/http"

// fromOwnUser cannot tell the users of this machine apart on this system.
func fromOwnUser(*http.Request) bool { return true }
