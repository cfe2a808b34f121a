//go:build sqlite_fts5 || fts5 || !cgo

package db

// fullText reports whether SQLite has full-text search; the build without cgo always has.
const fullText = true
