//go:build !linux || !cgo || !(sqlite_fts5 || fts5)

package sqlite

func useSingleHeap() {}
