package sqlite_test

import (
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/sqlite"
)

// The conversation of most tests.
var (
	oc      = dbtest.Chat
	open    = dbtest.Open
	fresh   = dbtest.New
	say     = dbtest.Say
	accept  = dbtest.Accept
	startIn = dbtest.StartIn
	claim   = dbtest.Claim
	finish  = dbtest.Finish
	history = dbtest.History
)

// fileOf is the file under a store.
func fileOf(d *db.DB) *sqlite.DB { return d.Upkeep.(*sqlite.DB) }
