package sqlite_test

import "magpie/db/dbtest"

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
