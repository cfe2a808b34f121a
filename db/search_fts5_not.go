//go:build !sqlite_fts5 && !fts5 && cgo

package db

const fullText = false
